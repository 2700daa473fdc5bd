import { createHash } from "node:crypto";

/**
 * CHANGELOG.md contains a checksum of the API's shape: paths, fields, types and codes, but not descriptions. An API change
 * therefore requires a change to the changelog.
 */
export function missingChangelogEntry(files: ReadonlyMap<string, string>): string[] {
  const api = files.get("openapi.json");
  const marker = api === undefined ? "" : `<!-- API checksum: ${apiChecksum(api)} -->`;
  if (files.get("CHANGELOG.md")?.includes(marker) ?? marker === "") return [];
  return [`CHANGELOG.md: the API has changed. Describe the change for callers and replace the checksum with ${marker}`];
}

const descriptiveFields = new Set(["description", "summary", "title", "detail", "version"]);

function apiChecksum(api: string): string {
  const shape = JSON.stringify(JSON.parse(api), (name, value: unknown) => {
    // Response examples are named after problem codes.
    if (name === "examples") return Array.isArray(value) ? undefined : Object.keys(value as object);
    // A field may itself be called "title"; its value is then a schema, not a string.
    return descriptiveFields.has(name) && typeof value === "string" ? undefined : value;
  });
  return createHash("sha256").update(shape).digest("hex").slice(0, 12);
}
