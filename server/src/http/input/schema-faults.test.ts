import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { fc } from "../../../test/support/data/fast-check.ts";
import { assertSupported, type BodySchema, findSchemaFaults } from "./schema-faults.ts";

const orNull = <Schema extends Parameters<typeof Type.Union>[0][number]>(schema: Schema) =>
  Type.Union([schema, Type.Null()]);

const schema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 5 }),
    mode: Type.Enum(["live", "test"]),
    n: Type.Optional(Type.Integer({ minimum: 1, maximum: 20 })),
    enabled: Type.Optional(Type.Boolean()),
    amount: Type.Optional(orNull(Type.String({ pattern: "^\\d{1,9}(\\.\\d{1,6})?$" }))),
    budget: Type.Optional(
      orNull(Type.Object({ day: Type.Optional(orNull(Type.String())) }, { additionalProperties: false })),
    ),
    scopes: Type.Optional(Type.Array(Type.Enum(["a", "b", "c"]), { minItems: 1, maxItems: 2, uniqueItems: true })),
    anything: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
);

const valid = { name: "ada", mode: "live" };
const faultsOf = (body: unknown): [string, string, string][] =>
  findSchemaFaults(schema as BodySchema, body).map(({ pointer, code, detail }) => [pointer, code, detail]);

test("describes the expected and the received value", () => {
  for (const [body, expected] of [
    [[], ["#", "wrong_type", "must be a JSON object, but is an array"]],
    [null, ["#", "wrong_type", "must be a JSON object, but is null"]],
    [{ mode: "live" }, ["#/name", "required", "is required"]],
    [{ ...valid, name: "" }, ["#/name", "empty", "must not be empty"]],
    [{ ...valid, name: "grace hopper" }, ["#/name", "too_long", "must have 1 to 5 characters, but has 12"]],
    [{ ...valid, name: 7 }, ["#/name", "wrong_type", "must be a string, but is 7; put it in quotes"]],
    [{ ...valid, mode: "prod" }, ["#/mode", "unknown_value", "must be `live` or `test`, but is `prod`"]],
    [{ ...valid, mode: "a live key" }, ["#/mode", "unknown_value", "must be `live` or `test`, but has 10 characters"]],
    [
      { ...valid, n: "2" },
      ["#/n", "wrong_type", "must be an integer from 1 to 20, but is the string `2`; remove the quotes"],
    ],
    [{ ...valid, mode: "Live" }, ["#/mode", "unknown_value", "must be `live` or `test` (did you mean `live`?)"]],
    [{ ...valid, mode: null }, ["#/mode", "wrong_type", "must be `live` or `test`, but is null"]],
    [{ ...valid, n: 21 }, ["#/n", "out_of_range", "must be an integer from 1 to 20, but is 21"]],
    [{ ...valid, n: 1.5 }, ["#/n", "wrong_type", "must be an integer from 1 to 20, but is 1.5"]],
    [{ ...valid, enabled: 1 }, ["#/enabled", "wrong_type", "must be `true` or `false`, but is 1"]],
    [{ ...valid, budget: [] }, ["#/budget", "wrong_type", "must be a JSON object or null, but is an array"]],
    [
      { ...valid, budget: { week: "1" } },
      ["#/budget/week", "unknown_field", "is not a known field; the fields are `day`"],
    ],
    [{ ...valid, scopes: [] }, ["#/scopes", "out_of_range", "must have 1 to 2 items, but has 0"]],
    [{ ...valid, scopes: ["a", "a"] }, ["#/scopes", "duplicate_item", "must not contain the same item twice"]],
    [{ ...valid, modes: [] }, ["#/modes", "unknown_field", "is not a known field (did you mean `mode`?)"]],
    [{ ...valid, "a/b~c": 1 }, ["#/a~1b~0c", "unknown_field", /^is not a known field; the fields are /]],
  ] as const) {
    const [fault = assert.fail(JSON.stringify(body)), ...others] = faultsOf(body);
    assert.deepEqual(others, []);
    const [pointer, code, detail] = expected;
    assert.deepEqual(fault.slice(0, 2), [pointer, code]);
    if (typeof detail === "string") assert.equal(fault[2], detail);
    else assert.match(fault[2], detail);
  }
});

test("never repeats a sentence or a secret", () => {
  for (const secret of ["pb_live_0123456789", "sk-0123456789abcdef", "0123456789abcdef", "my 0123 password"]) {
    assertNotRepeated(secret);
  }
});

function assertNotRepeated(secret: string): void {
  const body = {
    name: secret,
    mode: secret,
    n: secret,
    enabled: secret,
    amount: secret,
    budget: secret,
    scopes: [secret],
  };
  assert.equal(faultsOf(body).length, 7);
  assert.doesNotMatch(JSON.stringify(faultsOf(body)), /0123/);
}

test("refuses a schema that it could not describe", () => {
  assertSupported(schema);
  for (const [body, message] of [
    [Type.Object({ a: Type.String({ pattern: "^a$" }) }), /pattern \^a\$ has no description/],
    [Type.Object({ a: Type.Array(Type.Integer({ multipleOf: 2 })) }), /multipleOf/],
    [Type.Object({ a: orNull(Type.String({ format: "email" })) }), /format/],
  ] as const)
    assert.throws(() => assertSupported(body), { message });
});

test("reports at most twenty faults", () => {
  const body = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`field${index}`, index]));
  assert.equal(faultsOf(body).length, 20);
});

const leaf = fc.oneof(
  fc.constantFrom("live", "test", "a", "b", "1.00", "", "ada", "grace hopper"),
  fc.constantFrom(0, 1, 20, 21, 1.5, -1, true, false, null),
);
const bodies = fc.dictionary(
  fc.constantFrom("name", "mode", "n", "enabled", "amount", "budget", "day", "scopes", "anything", "other"),
  fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(fc.constantFrom("day", "x"), leaf, { maxKeys: 2 })),
);

test("agrees with the compiled validator on which bodies are valid", () => {
  const validator = Compile(schema);
  fc.assert(
    fc.property(
      fc.oneof(
        bodies,
        leaf,
        bodies.map((body) => ({ ...body, ...valid })),
      ),
      (body) => {
        assert.equal(faultsOf(body).length === 0, validator.Check(body), JSON.stringify(body));
      },
    ),
    { numRuns: 5_000 },
  );
});
