import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Changeset {
  /** The name of each package that it changes. */
  packages: string[];
  note: string;
}

/** The changes since the last release, each with a note for people who upgrade. */
export function readChangesets(tree: string): Changeset[] {
  const files = globSync("*.md", { cwd: join(tree, ".changeset") }).filter((file) => file !== "README.md");
  return files.toSorted().map((file) => parseChangeset(readFileSync(join(tree, ".changeset", file), "utf8"), file));
}

function parseChangeset(text: string, file: string): Changeset {
  const [, head = "", note = ""] = /^---\n(.*?)^---\n(.*)$/ms.exec(text) ?? [];
  const packages = [...head.matchAll(/^"([^"]+)": (?:major|minor|patch)$/gm)].map(([, name = ""]) => name);
  if (packages.length === 0 || note.trim() === "") throw new Error(`.changeset/${file}: no packages or no note`);
  return { packages, note: note.trim() };
}
