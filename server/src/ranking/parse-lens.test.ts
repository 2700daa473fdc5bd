import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { parseLens } from "./parse-lens.ts";

const headers = "! name: tried\n! version: 2026-11-15.1\n! lambda: 0.5\n";

function faultsOf(text: string): string[] {
  const parsed = parseLens(text);
  return parsed.ok ? [] : parsed.faults.map(({ line, message }) => `${line}: ${message}`);
}

test("parses every part of a rule", () => {
  const parsed = parseLens(
    `${headers}! a comment: with a colon\n\n/Coupons/$cap=D,site=www.example.org,override,why=coupon-section\r\n`,
  );
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.lens, {
    name: "tried",
    version: "2026-11-15.1",
    extends: undefined,
    lambda: 0.5,
    rules: [
      {
        verb: "cap",
        tier: "D",
        selector: "site",
        value: "example.org",
        path: "/coupons/",
        isOverride: true,
        why: "coupon-section",
        line: 6,
      },
    ],
  });
});

test("reports all faults with their lines", () => {
  const faults = faultsOf(
    [
      "! name: tried",
      "! lamda: 0.5",
      "! lambda: 1.5",
      "$tier=Z,site=example.org,why=x",
      "$tier=A,site=example.org",
      "$tier=A,cap=B,site=example.org,why=x",
      "$tier=A,site=example.org,host=example.org,why=x",
      "$tier=A,site=https://example.org,why=x",
      "$tier=A,why=x",
      "tier=A,site=example.org,why=x",
      "$tier=A,site=example.net,why=Two Words",
      "$tier=A,site=example.net,colour=red,why=x",
      "coupons/$tier=D,why=x",
    ].join("\n"),
  );
  assert.deepEqual(
    [...new Set(faults.map((fault) => Number(fault.split(":")[0])))],
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
  );
  assert.match(faults.join("\n"), /1: version is missing/);
  assert.match(faults.join("\n"), /2: unknown header "lamda"/);
});

test("a repeated header is a fault", () => {
  assert.deepEqual(faultsOf(`${headers}! name: again\n`), ["4: name is repeated"]);
});

test("two rules for the same pages are a fault, even if they differ", () => {
  const rules = "$tier=A,site=example.org,why=x\n$cap=D,site=www.example.org,why=y\n";
  assert.deepEqual(faultsOf(headers + rules), ["5: line 4 already has a rule for the same pages"]);
});

test("never throws, and every fault has a valid line number", () => {
  const words = "$ , = ! : / ~ * tier cap why site A x.org override __proto__ constructor toString".split(" ");
  const scrap = fc.constantFrom(" ", "\n", "! name: x\n", ...words);
  const text = fc.oneof(
    fc.string(),
    fc.array(scrap, { maxLength: 60 }).map((scraps) => scraps.join("")),
  );
  fc.assert(
    fc.property(text, (any) => {
      const lines = any.split("\n").length;
      const parsed = parseLens(any);
      return parsed.ok || (parsed.faults.length > 0 && parsed.faults.every(({ line }) => line >= 1 && line <= lines));
    }),
    { numRuns: 2_000 },
  );
});
