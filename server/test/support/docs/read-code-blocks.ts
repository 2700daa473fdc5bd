import { readFileSync } from "node:fs";

export interface CodeBlock {
  language: string;
  text: string;
  /** Line number in the page. */
  line: number;
  /** The comment directly above the block: the expected output or failure, its source, or why it cannot run. */
  mark: { kind: MarkKind; text: string } | undefined;
  /** The block that prints this JSON, if it is marked as `printed by` a language: the last one above in that language. */
  printedBy: CodeBlock | undefined;
}

type MarkKind = "prints" | "fails" | "not run" | "printed by" | "part of";

/** The code blocks of a page in one language, in order. */
export function readCodeBlocks(page: URL, language: string): string[] {
  return parseCodeBlocks(readFileSync(page, "utf8")).flatMap((block) =>
    block.language === language ? [block.text] : [],
  );
}

/** Every code block of a page, in order. */
export function parseCodeBlocks(page: string): CodeBlock[] {
  // The comment of the first tab is above its group. A tab has a title, such as [curl].
  const mark = /(?:<!-- (prints|fails|not run|printed by|part of): ([^\n]+) -->\n(?:::: code-group\n\n)?)?/.source;
  const matches = page.matchAll(new RegExp(`^${mark}\`\`\`(\\w*)(?: \\[[^\\]\\n]+\\])?\\n(.*?)^\`\`\`$`, "gms"));
  const blocks: CodeBlock[] = [];
  for (const { 0: whole, 1: kind, 2: expected = "", 3: language = "", 4: text = "", index } of matches) {
    blocks.push({
      language,
      text,
      line: page.slice(0, index + whole.indexOf("```")).split("\n").length,
      mark: kind === undefined ? undefined : { kind: kind as MarkKind, text: expected },
      printedBy: kind === "printed by" ? blocks.findLast((block) => block.language === expected) : undefined,
    });
  }
  return blocks;
}
