import { hasPossibleLengths } from "../lib/web-url.ts";
import { isJsonObject } from "./parse-json-object.ts";
import type { FieldNames, Hit } from "./provider.ts";

/** More than any search returns. An upstream's answer may have thousands, and each is parsed and ranked. */
const maxHits = 50;

/**
 * Reads the hits of an upstream's list, given its names for our three fields. Items without a web URL are skipped, and
 * missing texts are empty. Returns undefined if there is no list or no item is usable, because an unknown format must not
 * be charged as an empty result.
 */
export function readHits(items: unknown, names: FieldNames): Hit[] | undefined {
  if (!Array.isArray(items)) return undefined;

  const hits: Hit[] = [];
  for (const item of items) {
    if (!isJsonObject(item)) continue;
    const url = text(item[names.url]);
    if (!/^https?:\/\//i.test(url) || !hasPossibleLengths(url)) continue;
    if (hits.length === maxHits) break;
    hits.push({ title: text(item[names.title]), url, snippet: text(item[names.snippet]) });
  }

  return items.length > 0 && hits.length === 0 ? undefined : hits;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
