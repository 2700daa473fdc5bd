import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Type } from "typebox";
import { fc } from "../../../test/support/data/fast-check.ts";
import { Problem } from "../../problems/problems.ts";
import { jsonReader, parseJson } from "./read-json.ts";

const words = Type.Array(Type.String(), { uniqueItems: true });
const read = jsonReader(Type.Object({ words: Type.Optional(words) }, { additionalProperties: false }));

function requestOf(body: string): IncomingMessage {
  return Object.assign(Readable.from([Buffer.from(body)]), {
    headers: { "content-type": "application/json" },
  }) as unknown as IncomingMessage;
}

async function faultsOf(body: string): Promise<unknown> {
  return read(requestOf(body)).then(
    () => [],
    (error: unknown) => (error instanceof Problem ? error.members["errors"] : error),
  );
}

test("rejects a NUL character with its JSON Pointer", async () => {
  assert.deepEqual(await faultsOf('{"words":["a","b"]}'), []);
  assert.deepEqual(await faultsOf('{"words":["a","b\\u0000c"]}'), [
    { pointer: "#/words/1", code: "invalid", detail: "must not contain a NUL character" },
  ]);
});

test("rejects a deeply nested body without exhausting the stack", async () => {
  const faults = (await faultsOf(`{"words":${"[".repeat(8_000)}${"]".repeat(8_000)}}`)) as { detail: string }[];
  assert.deepEqual(
    faults.map(({ detail }) => detail),
    ["is nested too deeply"],
  );
});

function duplicateOf(body: string): unknown {
  try {
    parseJson(Buffer.from(body));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Problem);
    assert.equal(error.code, "invalid_request");
    const [fault] = error.members["errors"] as { pointer: string; code: string; detail: string }[];
    assert.deepEqual([fault?.code, fault?.detail], ["duplicate_key", "appears more than once"]);
    return fault?.pointer;
  }
}

test("rejects a duplicate key with its JSON Pointer", () => {
  for (const [body, pointer] of [
    ['{"query":"cats","query":"dogs"}', "#/query"],
    ['{"n":1,"n":1}', "#/n"],
    ['{ "n" :\n1\t, "n"\r\n: 2 }', "#/n"],
    ['{"query":"a","qu\\u0065ry":"b"}', "#/query"],
    ['{"":1,"":2}', "#/"],
    ['{"__proto__":1,"__proto__":2}', "#/__proto__"],
    ['{"a\\"b":1,"a\\"b":2}', '#/a"b'],
    ['{"a/b~c":1,"a/b~c":2}', "#/a~1b~0c"],
    ['{"budget":{"day":"1","month":"2","day":"3"}}', "#/budget/day"],
    ['{"list":[{},[1,2],{"x":[3],"y":0,"x":4}]}', "#/list/2/x"],
    ['[[],{"a":{"b":1,"b":2}}]', "#/1/a/b"],
    [`{"${"k".repeat(300)}":1,"${"k".repeat(300)}":2}`, `#/${"k".repeat(99)}`],
  ] as const)
    assert.equal(duplicateOf(body), pointer, body);
});

test("accepts the same key in different objects, and text that looks like a duplicate key", () => {
  for (const body of [
    '{"a":{"a":1},"b":{"a":2}}',
    '[{"a":1},{"a":2}]',
    '{"a":"b","b":"a"}',
    '{"a":"\\"a\\":1,","b":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a":["a","a","a:"],"a:":"a"}',
    '{"a":"\\\\","b":"\\\\\\""}',
    '{"A":1,"a":2}',
    '"a"',
    "5",
  ])
    assert.equal(duplicateOf(body), undefined, body);
});

// Pretty-printed or not, with names and strings full of quotes, colons, braces and backslashes.
const awkward = fc.string({ unit: fc.constantFrom('"', "\\", ":", "{", "}", "[", ",", " ", "a", "é") });
const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, awkward, fc.integer(), fc.constant(null), tie("list"), tie("object")),
  list: fc.array(tie("value"), { maxLength: 3 }),
  object: fc.dictionary(awkward, tie("value"), { maxKeys: 4 }),
}));

test("accepts everything a JSON encoder writes, and finds a key that was written twice", () => {
  fc.assert(
    fc.property(json, awkward, fc.constantFrom(0, 2), (value, name, indent) => {
      assert.equal(duplicateOf(JSON.stringify(value, null, indent)), undefined);
      const members = JSON.stringify({ first: value, [`${name}x`]: value }, null, indent).slice(1, -1);
      const written = `{${members},${JSON.stringify(`${name}x`)}:1}`;
      const pointer = `#/${name.replaceAll("~", "~0").replaceAll("/", "~1")}x`;
      assert.equal(duplicateOf(written), pointer.slice(0, 101));
    }),
    { numRuns: 1_000 },
  );
});

test("checks a large body for duplicate keys in linear time", () => {
  for (const body of [
    `{"a":${'{"a":'.repeat(60_000)}1${"}".repeat(60_000)}}`,
    `{${Array.from({ length: 50_000 }, (_, n) => `"${n}":1`).join(",")}}`,
    `{"a":"${"\\\\".repeat(160_000)}"}`,
    `[${'"",'.repeat(100_000)}1]`,
  ]) {
    const before = process.threadCpuUsage();
    assert.equal(duplicateOf(body), undefined);
    // It takes milliseconds; quadratic work on these bodies, twenty times the largest accepted one, takes longer.
    assert.ok(process.threadCpuUsage(before).user < 5_000_000, body.slice(0, 20));
  }
});
