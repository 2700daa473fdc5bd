import { createHash } from "node:crypto";

/**
 * CHANGELOG.md carries a sum of the API's shape: paths, fields, types, codes, but not the words that describe them. Whoever
 * changes the shape has to open the changelog to write the new sum, and finds there what else is wanted.
 */
export function unloggedApiChange(files: ReadonlyMap<string, string>): string[] {
  const api = files.get("openapi.json");
  const mark = api === undefined ? "" : `<!-- The API's sum: ${sumOf(api)} -->`;
  if (files.get("CHANGELOG.md")?.includes(mark) ?? mark === "") return [];
  return [`CHANGELOG.md: the API has changed. Say what changes for callers, then write ${mark} instead of the old sum`];
}

const words = new Set(["description", "summary", "title", "detail", "version"]);

function sumOf(api: string): string {
  const shape = JSON.stringify(JSON.parse(api), (name, value: unknown) => {
    // The examples of an answer are named after the codes it can have.
    if (name === "examples") return Array.isArray(value) ? undefined : Object.keys(value as object);
    // A field may be called "title" too; its value is a schema, not a text.
    return words.has(name) && typeof value === "string" ? undefined : value;
  });
  return createHash("sha256").update(shape).digest("hex").slice(0, 12);
}
