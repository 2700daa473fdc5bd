// A mechanism is described on one page, and other pages link to it. This check finds text of at least 20 words that is the
// same on two pages: a paragraph, a list item, a row of a table, or a sentence of them.

type Files = ReadonlyMap<string, string>;

const minWords = 20;

export function duplicatedParagraphs(files: Files): string[] {
  const pages = [...files].filter(([path, text]) => isPage(path) && !isGenerated(text));
  const pagesOf = new Map<string, Set<string>>();
  for (const [path, text] of pages) {
    for (const passage of passagesOf(text)) {
      pagesOf.set(passage, (pagesOf.get(passage) ?? new Set()).add(path));
    }
  }
  return [...pagesOf].flatMap(([passage, paths]) => {
    const [first, ...others] = [...paths].toSorted();
    return others.map(
      (path) => `${path}: repeats a text of ${first}: "${passage.slice(0, 60)}..."; link to it instead`,
    );
  });
}

/** Decisions describe the past. */
function isPage(path: string): boolean {
  return path === "README.md" || (/^docs\/.*\.md$/.test(path) && !path.startsWith("docs/decisions/"));
}

/** Not those with a generated part, which ends with a comment. */
function isGenerated(text: string): boolean {
  return text.includes("<!-- Generated from") && !text.includes("<!-- End of the generated");
}

/** The words of each passage, without markup, so that a different line break or link makes no difference. */
function passagesOf(page: string): string[] {
  const prose = page
    .replaceAll(/<!-- Generated from.*?<!-- End of the generated.*?-->/gs, "")
    .replaceAll(/^```.*?^```$/gms, "\n")
    .replaceAll(/<!--.*?-->/gs, "")
    .replaceAll(/\]\([^)]*\)/g, "]");
  const blocks = prose.split(/\n\s*\n|\n(?=\s*(?:[-|]|\d+\.) ?)/);
  const sentences = blocks.flatMap((block) => block.split(/(?<=[.:;?])\s/));
  return [...blocks, ...sentences]
    .map((text) => text.match(/[\p{L}\p{N}][\p{L}\p{N}_/-]*/gu) ?? [])
    .filter((words) => words.length >= minWords)
    .map((words) => words.join(" "));
}
