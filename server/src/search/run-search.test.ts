import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { FastifyReply, FastifyRequest } from "fastify";
import { OutcomeUnknown } from "../db/settle-batch.ts";
import { NoResponse } from "../http/no-response.ts";
import type { Principal } from "../keys/keys.ts";
import { Problem } from "../problems/problems.ts";
import type { UnheldRequest } from "../usage/usage.ts";
import { createSearchRunner, type SearchRunner } from "./run-search.ts";
import type { SearchDependencies } from "./search.ts";

const caller: Principal = {
  keyId: "key",
  walletId: "wallet",
  mode: "live",
  scopes: ["search"],
  searchesPerSecond: 1,
  searchesInFlight: 1,
};

/** A runner whose searches end with this error, which `hold` throws, and what it has recorded. */
function createRunner(error: unknown, found: Principal | undefined) {
  const stored: UnheldRequest[] = [];
  const counted: string[] = [];
  const fail = async () => {
    throw error;
  };
  const dependencies: Partial<SearchDependencies> = {
    authenticate: async () => found ?? fail(),
    acquireSlot: async () => ({ headers: { "ratelimit-policy": "", ratelimit: "" }, release: () => undefined }),
    queryLimits: () => [],
    maxOnlyDomains: () => 0,
    startCalls: async () => ({ recordSent: () => undefined, recordAnswer: () => undefined, end: () => undefined }),
    hold: fail,
  };
  const runner = createSearchRunner(dependencies as SearchDependencies, {
    metrics: { countRequest: ({ kind, outcome, mode }) => void counted.push(`${kind} ${outcome} ${mode}`) },
    figures: { duringSearch: (work) => work(), recordRequest: ({ kind }) => void counted.push(kind) },
    recordCharge: () => undefined,
    recordUnheld: (request) => void stored.push(request),
    startTrace: undefined,
  });
  return { runner, stored, counted };
}

async function run(runner: SearchRunner): Promise<void> {
  const request = { id: "id", ip: "::1", headers: {}, raw: { rawHeaders: [], headers: {} } };
  const reply = { raw: new EventEmitter(), header: () => reply, headers: () => reply };
  await runner
    .run({
      request: request as unknown as FastifyRequest,
      reply: reply as unknown as FastifyReply,
      transport: "mcp",
      readInput: async () => ({ body: Buffer.from('{"query":"cats"}'), headers: { "search-run": "r; max=1" } }),
    })
    .catch(() => undefined);
}

const insufficient = new Problem("insufficient_balance");

test("a refusal is recorded once, with its key, code, run and transport, in metrics and figures too", async () => {
  const { runner, stored, counted } = createRunner(insufficient, caller);
  await run(runner);
  const { keyId, walletId, mode } = caller;
  const request = { id: "id", keyId, walletId, mode, outcome: "insufficient_balance", transport: "mcp" };
  assert.deepEqual(stored, [{ ...request, run: "r", endUser: undefined }]);
  assert.deepEqual(counted, ["refusal insufficient_balance live", "refusal"]);
});

test("a caller that disconnects before the hold is a refusal, a hold with an unknown outcome is not", async () => {
  for (const [error, lines, count] of [
    [new NoResponse("disconnected"), "refusal caller_left live", 1],
    [new Problem("ledger_unavailable", { cause: new Error("never sent") }), "refusal ledger_unavailable live", 1],
    // If the hold did commit, the ledger counts it.
    [new Problem("ledger_unavailable", { cause: new OutcomeUnknown() }), "unknown ledger_unavailable live", 0],
  ] as const) {
    const { runner, stored, counted } = createRunner(error, caller);
    await run(runner);
    assert.deepEqual([counted[0], stored.length], [lines, count]);
  }
});

test("a call without a key that can search is not a request", async () => {
  for (const found of [undefined, { ...caller, mode: "mgmt" as const }]) {
    const { runner, stored, counted } = createRunner(new Problem("insufficient_scope"), found);
    await run(runner);
    runner.recordRejected(new Problem("overloaded"));
    assert.deepEqual(stored, []);
    assert.deepEqual(
      counted.filter((line) => line.startsWith("unauthenticated ")),
      ["unauthenticated insufficient_scope unauthenticated", "unauthenticated overloaded unauthenticated"],
    );
  }
});

test("a request that is refused before it could be run is recorded with its caller", () => {
  const { runner, stored } = createRunner(insufficient, caller);
  runner.recordRefusal(
    { id: "id", transport: "mcp", caller: { ...caller, mode: "test" } },
    new Problem("api_key_revoked"),
  );
  assert.deepEqual(
    stored.map(({ mode, outcome, transport }) => [mode, outcome, transport]),
    [["test", "api_key_revoked", "mcp"]],
  );
});
