import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { serverConnections, totalOf, workerConnections } from "../db/connection-counts.ts";
import { ledgerConnections } from "../wallet/wallet.ts";
import { taskSchedules } from "./tasks.ts";

const readPage = (name: string): string =>
  readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8").replaceAll(/\s+/g, " ");

test("the pools have room for the ledger lanes and for every task", () => {
  assert.equal(serverConnections.ledger, ledgerConnections + 3);
  assert.equal(workerConnections.jobs, Object.keys(taskSchedules).length + 2);
});

test("the docs state the number of connections of a server and of a worker", () => {
  const [server, worker] = [totalOf(serverConnections), totalOf(workerConnections)];
  const page = readPage("runbooks/capacity.md");
  assert.ok(page.includes(`| Connections to PostgreSQL, at most | ${server} (`) && page.includes(`| ${worker} (`));
  assert.ok(page.includes(`\`max_connections\` = ${server} x servers + ${worker} x workers + 20.`));
});
