import { renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { formatJson } from "../../src/api-docs/format-json.ts";
import type { ReferenceExample } from "../../src/api-docs/reference-example.ts";
import { examplesFile, startReferenceServer } from "./reference-server.ts";

// npm run docs:examples: records the examples of docs/reference. Needs the PostgreSQL and Redis of the tests.

const { operations, prepare, record, close } = await startReferenceServer();
const examples: Record<string, ReferenceExample> = {};
for (const operation of operations) {
  examples[operation.described.operationId] = await record(await prepare(operation));
}
await close();
const file = fileURLToPath(examplesFile);
writeFileSync(`${file}.new`, `${formatJson(examples)}\n`);
renameSync(`${file}.new`, file);
