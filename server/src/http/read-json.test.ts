import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Type } from "typebox";
import { Problem } from "../problems/problems.ts";
import { jsonReader } from "./read-json.ts";

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
