import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { resolveReferences } from "../../src/api-docs/resolve-references.ts";
import { isUuid } from "../../src/http/input/query-parameters.ts";
import { installPacked } from "../support/docs/packed-packages.ts";
import { parseCodeBlocks } from "../support/docs/read-code-blocks.ts";
import { faultOf, openSamples } from "../support/docs/run-code-block.ts";
import type { TenantRequest } from "../tenants/tenant-requests.ts";
import { readExamples, startReferenceServer } from "./reference-server.ts";

// The examples of docs/reference are what the server returns, match openapi.json, and the samples beside them run.

const { server, operations, prepare, record, close } = await startReferenceServer();
const examples = readExamples();
const pages = globSync(resolve(import.meta.dirname, "../../../docs/reference/*.md")).map((page) =>
  readFileSync(page, "utf8"),
);
const document = resolveReferences((await server.request("/openapi.json")).body);
const installed = installPacked();
// Without this, curl exits with 0 for a 402.
writeFileSync(join(installed.folder, ".curlrc"), "fail-with-body\n");
const python = {
  PYTHONPATH: resolve(import.meta.dirname, "../../../clients/python/src"),
  PYTHONDONTWRITEBYTECODE: "1",
};
const scripts = openSamples(installed.folder, python);
const ajv = new Ajv2020({ strict: false, validateFormats: false });

after(async () => {
  scripts.close();
  installed.remove();
  await close();
});

/** The first difference in status, fields or types. A null matches everything, and lists are compared by their first item. */
function findDifference(actual: unknown, expected: unknown, path = ""): string | undefined {
  if (actual === null || expected === null) return undefined;
  if (Array.isArray(actual) && Array.isArray(expected)) {
    const isEmpty = actual.length === 0 || expected.length === 0;
    return isEmpty ? undefined : findDifference(actual[0], expected[0], `${path}[]`);
  }
  if (typeof actual !== typeof expected) return `${path}: ${typeof actual} instead of ${typeof expected}`;
  if (typeof actual !== "object" || typeof expected !== "object") return undefined;
  const names = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  for (const name of names) {
    if (!(name in actual)) return `${path}.${name}: missing`;
    if (!(name in expected)) return `${path}.${name}: new`;
    const [ours, theirs] = [actual as Record<string, unknown>, expected as Record<string, unknown>];
    const difference = findDifference(ours[name], theirs[name], `${path}.${name}`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

test("a difference in status, fields or types is found, and different values are not", () => {
  const expected = { status: 200, response: { id: "a", at: null, list: [{ n: 1 }] } };
  assert.equal(findDifference({ status: 201, response: { id: "b", at: "now", list: [] } }, expected), undefined);
  assert.equal(findDifference({ status: 200, response: { id: "b", at: null } }, expected), ".response.list: missing");
  const renamed = { status: 200, response: { id: "b", at: null, list: [{ m: 1 }] } };
  assert.equal(findDifference(renamed, expected), ".response.list[].m: new");
  const retyped = { status: 200, response: { id: 1, at: null, list: [] } };
  assert.equal(findDifference(retyped, expected), ".response.id: number instead of string");
});

test("the reference has an example of every operation and no other", () => {
  const ids = operations.map(({ described }) => described.operationId);
  assert.deepEqual(Object.keys(examples).toSorted(), ids.toSorted(), "run npm run docs:examples");
});

for (const operation of operations) {
  const { operationId } = operation.described;
  const example = examples[operationId];

  test(`${operationId} returns what its example and openapi.json show`, async () => {
    const recorded = await record(await prepare(operation));
    assert.equal(recorded.status, example?.status);
    const difference = findDifference(recorded, example);
    assert.equal(difference, undefined, `${difference}; run npm run docs:examples`);
    const answer = document.paths[operation.path][operation.method.toLowerCase()].responses[recorded.status];
    const schema = answer.content["application/json"]?.schema;
    if (schema === undefined) return;
    const isValid = ajv.compile(schema);
    assert.ok(isValid(recorded.response ?? {}), JSON.stringify(isValid.errors));
  });

  test(`the samples of ${operationId} run`, async () => {
    const [, section = ""] = pages.join("\n").split(` {#${operationId}}\n`);
    const samples = parseCodeBlocks(section.split("\n:::\n")[0] ?? "");
    assert.deepEqual(
      samples.map(({ language }) => language),
      ["sh", "ts", "python"],
    );
    await Promise.all(
      samples.map(async (sample) => {
        const request = await prepare(operation);
        const { key = "" } = request;
        const recorded = readIds(example);
        const text = Object.entries(readIds(request)).reduce(
          (current, [name, value]) => current.replaceAll(recorded[name] ?? value, value),
          sample.text,
        );
        const caller = {
          PENNYBLACK_URL: server.url,
          PENNYBLACK_API_KEY: key || "none",
          PENNYBLACK_MANAGEMENT_KEY: key,
        };
        const fault = await faultOf({ ...sample, text }, { folder: installed.folder, scripts, caller, operator: {} });
        assert.equal(fault, undefined, `${sample.language}: ${fault}\n${text}`);
      }),
    );
  });
}

/** The ids in the path and the body of a request. */
function readIds(request: Pick<TenantRequest, "path" | "body"> = {}): Record<string, string> {
  const fields = Object.entries({ ...request.path, ...(request.body as object | undefined) });
  return Object.fromEntries(
    fields.filter((field): field is [string, string] => typeof field[1] === "string" && isUuid(field[1])),
  );
}
