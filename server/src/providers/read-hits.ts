import { isJsonObject } from "./parse-json-object.ts";
import type { FieldNames, Hit } from "./provider.ts";

/**
 * Picks the hits out of an upstream's list, given what it calls our three fields. Lenient item by item: one without a
 * web address is left out, a missing text is empty. Strict as a whole: undefined if there is no list, or if not one item of a
 * list could be read, because the caller would pay for an empty page that is really a format we no longer understand.
 */
export function readHits(items: unknown, names: FieldNames): Hit[] | undefined {
  if (!Array.isArray(items)) return undefined;

  const hits: Hit[] = [];
  for (const item of items) {
    if (!isJsonObject(item)) continue;
    const url = text(item[names.url]);
    if (!/^https?:\/\//i.test(url)) continue;
    hits.push({ title: text(item[names.title]), url, snippet: text(item[names.snippet]) });
  }

  return items.length > 0 && hits.length === 0 ? undefined : hits;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
