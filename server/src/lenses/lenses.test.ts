import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "tldts";

const folder = new URL("../../lenses", import.meta.url).pathname;

// The parser rejects repeated rules and malformed names, but not a name that no registry could contain.
test("every host and site in a rule is under a public suffix, and below it unless the suffix is a government's", () => {
  const files = readdirSync(folder).filter((file) => file.endsWith(".lens"));
  const invalid = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    return [...text.matchAll(/^[^!].*,(?:site|host)=([^,]+)/gm)].flatMap(([, name = ""]) => {
      const { isIcann, domain } = parse(name, { allowPrivateDomains: false });
      return isIcann === true && (domain !== null || /^(?:gov|gouv|gc|nic)\./.test(name)) ? [] : [`${file}: ${name}`];
    });
  });
  assert.deepEqual(invalid, []);
});
