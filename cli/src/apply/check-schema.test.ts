import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fc } from "../../../server/test/support/data/fast-check.ts";
import { checkSchema, type Schema } from "./check-schema.ts";

const schema = JSON.parse(readFileSync(new URL("../../pennyblack.schema.json", import.meta.url), "utf8")) as Schema;
const validate = new Ajv2020({ strict: false }).compile(schema);

const key = {
  external_id: "agent",
  mode: "live",
  name: "Agent",
  budget: { day: "5.00" },
  sources: { block: ["a.example"] },
};
const file = {
  budgets: [{ external_id: "team", mode: "live", name: "Team", amount: "1.00", period: "day", alerts: [80] }],
  keys: [
    { ...key, budgets: ["team"], compat: { ignore: ["domains"], run: { max: "1", ttl: "1h" } }, max_run: { max: "1" } },
  ],
  webhooks: [{ external_id: "ops", url: "https://a.example", events: ["key.created"], enabled: true }],
  alerts: { email: null, low_balance: "5.00" },
  auto_top_up: { threshold: "5", amount: "20", monthly_cap: "100" },
};

test("a file is valid exactly if Ajv finds no fault, whatever value is replaced or removed", () => {
  assert.deepEqual(checkSchema(schema, file), []);
  assert.equal(validate(file), true);
  const paths = listPaths(file);
  assert.ok(paths.length > 40);
  const values = fc.oneof(
    fc.constantFrom<unknown>(
      undefined,
      null,
      "",
      "5",
      "a b",
      "team",
      "x".repeat(300),
      0,
      1.5,
      5_000,
      true,
      [],
      ["a", "a"],
      {},
    ),
    fc.jsonValue(),
  );
  let valid = 0;
  fc.assert(
    fc.property(fc.constantFrom(...paths), values, (path, value) => {
      const changed: unknown = JSON.parse(JSON.stringify(replace(file, path, value)));
      const faults = checkSchema(schema, changed);
      assert.equal(faults.length === 0, validate(changed), JSON.stringify({ path, value, faults }));
      if (faults.length === 0) valid += 1;
    }),
    { numRuns: 3_000 },
  );
  assert.ok(valid > 100, String(valid));
});

function listPaths(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [[]];
  const nested = Object.entries(value).flatMap(([name, item]) => listPaths(item).map((path) => [name, ...path]));
  return [
    ...Object.keys(value).map((name) => [name]),
    ...Object.keys(value).map((name) => [name, "unknown"]),
    ...nested,
  ];
}

function replace(target: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (typeof target !== "object" || target === null) return value;
  const copy = (Array.isArray(target) ? [...(target as unknown[])] : { ...target }) as Record<string, unknown>;
  const replaced = replace(copy[name], rest, value);
  if (replaced !== undefined) copy[name] = replaced;
  else if (Array.isArray(copy)) copy.splice(Number(name), 1);
  else delete copy[name];
  return copy;
}
