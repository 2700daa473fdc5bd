// Writes the notes for each release in docs/upgrading.md: those of the next release from .changeset, those of earlier ones
// from CHANGELOG.md, where `npm run release:version` moves them. With --check it fails if the page is stale.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Changeset, readChangesets } from "./changesets.ts";
import { npmPackages, root } from "./products.ts";

const begin = "<!-- Generated from .changeset and CHANGELOG.md by `npm run generate`. -->";
const end = "<!-- End of the generated notes -->";
const heading = "### Upgrade notes";

interface PendingRelease {
  changesets: readonly Changeset[];
  changelog: string;
  /** The packages that every change of the whole product names. */
  allPackages: readonly string[];
}

/** The page with the notes between the two comments. */
export function insertReleases(page: string, { changesets, changelog, allPackages }: PendingRelease): string {
  const [before, after] = [page.indexOf(begin), page.indexOf(end)];
  if (before < 0 || after < before) throw new Error("docs/upgrading.md: the comments for the notes are missing");
  const next = changesets.length === 0 ? [] : ["### Next release", formatNotes(changesets, allPackages)];
  const sections = [...next, ...releasedNotes(changelog)].join("\n\n");
  return `${page.slice(0, before)}${begin}\n\n${sections}\n\n${page.slice(after)}`;
}

/** Moves the notes into the changelog: names the release with its date, and adds its notes at the end of its section. */
export function releaseChangelog(
  changelog: string,
  release: PendingRelease & { version: string; date: string },
): string {
  const unreleased = /^## \[[^\]]+\] - Unreleased\n/m;
  const title = `## [${release.version}] - ${release.date}\n`;
  const notes = `${heading}\n\n${formatNotes(release.changesets, release.allPackages)}\n`;
  const open = unreleased.test(changelog)
    ? changelog.replace(unreleased, title)
    : changelog.replace(/(?=^## \[|(?![^]))/m, `${title}\n`);
  const start = open.indexOf(title) + title.length;
  const next = open.slice(start).search(/^## \[|^\[[^\]]+\]: /m);
  const stop = next < 0 ? open.length : start + next;
  return `${open.slice(0, stop).trimEnd()}\n\n${notes}${next < 0 ? "" : `\n${open.slice(stop)}`}`;
}

function releasedNotes(changelog: string): string[] {
  const releases = changelog.split(/^(?=## \[)/m).slice(1);
  return releases.flatMap((text) => {
    const version = /^## \[([^\]]+)\]/.exec(text)?.[1] ?? "";
    const notes = text.split(/^(?=### )/m).find((section) => section.startsWith(heading));
    // Links in CHANGELOG.md are relative to the repository, those of the site to docs/.
    return notes === undefined
      ? []
      : [`### ${version}`, notes.slice(heading.length).trim().replaceAll("](docs/", "](")];
  });
}

/** One list item for each change, with the packages that it affects unless it affects all of them. */
function formatNotes(changesets: readonly Changeset[], allPackages: readonly string[]): string {
  return changesets
    .map(({ packages, note }) => {
      const isForAll = allPackages.every((name) => packages.includes(name));
      const names = packages.map((name) => (name === "@pennyblack/server" ? "server" : `\`${name}\``)).join(", ");
      return `- ${isForAll ? "" : `${names}: `}${note.replaceAll("\n", "\n  ")}`;
    })
    .join("\n");
}

/** Reads what the notes are made from in a copy of the repository. */
export function readPendingRelease(tree: string): PendingRelease {
  return {
    changesets: readChangesets(tree),
    changelog: readFileSync(join(tree, "CHANGELOG.md"), "utf8"),
    allPackages: ["@pennyblack/server", ...npmPackages(tree).map(({ manifest }) => manifest.name)],
  };
}

if (import.meta.main) {
  const path = join(root, "docs/upgrading.md");
  const page = readFileSync(path, "utf8");
  const updated = insertReleases(page, readPendingRelease(root));
  if (!process.argv.includes("--check")) writeFileSync(path, updated);
  else if (updated !== page) {
    console.error("Stale: docs/upgrading.md. Run: npm run generate");
    process.exitCode = 1;
  }
}
