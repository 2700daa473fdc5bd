import { readFileSync } from "node:fs";

/** The code blocks of a page that are in a language, in order. */
export function readCodeBlocks(page: URL, language: string): string[] {
  const blocks = readFileSync(page, "utf8").matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...blocks].flatMap(([, name, text = ""]) => (name === language ? [text] : []));
}
