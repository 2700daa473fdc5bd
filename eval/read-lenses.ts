import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildLenses, type Lens } from "../server/src/ranking/lens.ts";

export interface LensFile {
  file: string;
  text: string;
}

export function readLensFiles(): LensFile[] {
  const folder = join(import.meta.dirname, "..", "server", "lenses");
  const files = readdirSync(folder).filter((file) => /\.(?:lens|registry)$/.test(file));
  return files.toSorted().map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));
}

export function buildLensesOrThrow(files: readonly LensFile[]): ReadonlyMap<string, Lens> {
  const built = buildLenses(files);
  if (built.ok) return built.lenses;
  throw new Error(built.faults.map(({ file, line, message }) => `${file}:${line}: ${message}`).join("\n"));
}
