import assert from "node:assert/strict";
import { before, describe, mock, test } from "node:test";
import type { UsagePeriod, UsageReport, WalletSummary } from "@pennyblack/sdk";
import { measures } from "../../../console/src/pages/usage/measure.ts";
import { pivot, totalOf } from "../../../console/src/pages/usage/pivot.ts";
import { toUsageCsv } from "../../../console/src/pages/usage/usage-csv.ts";
import { priceMicros } from "../../src/lib/money.ts";
import { rollUpUsage } from "../../src/usage/usage.ts";
import { topUpBatch } from "../../src/wallet/statements.ts";
import { createTransports } from "../support/clients/search-transports.ts";
import { createConsoleFixture, signInTo, someone } from "../support/console-fixture.ts";
import { seedKeyLimits } from "../support/data/seed-wallet.ts";
import { createTestKey, operators, type Reply, startTestServer } from "../support/services/server.ts";
import type { BehaviourName } from "../support/upstreams/hostile-upstream.ts";

// 200 requests of every kind, through every transport and in both modes. Every figure of them must be what their callers saw.

// The operator's figures are those of the last minute, and stored refusals have limits per minute: each kind has its own.
mock.timers.enable({ apis: ["Date"], now: Date.now() });
const minuteMs = 61_000;

type Mode = "live" | "test";
type Kind = "search" | "replay" | "refusal";
type Key = { id: string; key: string };

const modes: readonly Mode[] = ["live", "test"];
const perKind = 200;

interface Phase {
  kind: Kind;
  outcome: string;
  /** Default: both. */
  modes?: readonly Mode[];
  /** Other outcomes that some of its requests have. */
  also?: readonly string[];
  /** Default: `cats`. */
  query?: Record<Mode, string>;
  upstream?: BehaviourName;
  key?: (mode: Mode) => Promise<Key>;
  isRepeated?: boolean;
  /** More than the rate of its key. Default: one. */
  concurrency?: number;
}

const settings = { PENNYBLACK_OPERATORS: operators };
const fixture = await createConsoleFixture(settings);
const { db, server, upstream } = fixture;
const owner = someone("owner");
const { walletId, liveKey, managementKey } = await fixture.openAccount(owner);
// Closed before the figures are read, so that it has written all of them.
const sender = await startTestServer(db, {
  PENNYBLACK_SEARXNG_URL: upstream.url,
  PENNYBLACK_TRUSTED_PROXIES: "127.0.0.1",
  ...settings,
});
const transports = createTransports(sender, { browser: await signInTo(db, sender, owner), walletId });

const createKey = (mode: Mode, more = {}): Promise<Key> => createTestKey(db, { walletId, mode, ...more });

async function createRevokedKey(mode: Mode): Promise<Key> {
  const key = await createKey(mode);
  await db.owner.query("select pb.revoke_key($1, $2)", [walletId, key.id]);
  return key;
}

/** In this order, because the balance is checked before budgets and upstreams, and spent by the successful searches. */
const phases: readonly Phase[] = [
  {
    kind: "search",
    outcome: "upstream_error",
    query: { live: "cats", test: "test:upstream_503" },
    upstream: "status_503",
  },
  {
    kind: "refusal",
    outcome: "key_budget_spent",
    key: async (mode) => createKey(mode, { limitsId: await seedKeyLimits(db.owner, walletId, { day: 0n }, mode) }),
  },
  { kind: "search", outcome: "ok" },
  { kind: "search", outcome: "ok", query: { live: "cats", test: "test:empty" }, upstream: "empty" },
  { kind: "replay", outcome: "replayed", also: ["ok"], isRepeated: true },
  { kind: "refusal", outcome: "invalid_request", query: { live: "", test: "" } },
  { kind: "refusal", outcome: "insufficient_balance", modes: ["live"] },
  {
    kind: "refusal",
    outcome: "rate_limited",
    // The ones that are within the rate.
    also: ["ok", "insufficient_balance"],
    key: (mode) => createKey(mode, { searchesPerSecond: 1 }),
    concurrency: 5,
  },
  { kind: "refusal", outcome: "ip_not_allowed", key: (mode) => createKey(mode, { allowedIps: ["192.0.2.0/24"] }) },
  { kind: "refusal", outcome: "api_key_revoked", key: createRevokedKey },
  {
    kind: "refusal",
    outcome: "api_key_expired",
    key: (mode) => createKey(mode, { expiresAt: new Date(Date.now() - 3_600_000) }),
  },
];

interface Sent {
  mode: Mode;
  kind: Kind;
  outcome: string;
  count: number;
}

/** The responses that callers received. */
const sent: Sent[] = [];

const sum = (lines: readonly { count: number }[]): number => lines.reduce((total, { count }) => total + count, 0);
const sentOf = (filter: Partial<Sent>, lines: readonly Sent[] = sent): Sent[] =>
  lines.filter((line) => Object.entries(filter).every(([name, value]) => line[name as keyof Sent] === value));

interface Counted {
  mode?: string | undefined;
  kind?: string | undefined;
  outcome?: string | undefined;
  count: number;
}

/** The numbers by mode, kind and outcome, without zeros. */
function toTable(lines: readonly Counted[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { mode, kind, outcome, count } of lines) {
    const name = `${mode} ${kind} ${outcome}`;
    if (count > 0) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return Object.fromEntries(counts);
}

interface CountsOfLine {
  mode?: string | undefined;
  outcome?: string | undefined;
  searches: number;
  replays?: number | undefined;
  refusals?: number | undefined;
}

function toLines({ mode, outcome, searches, replays = 0, refusals = 0 }: CountsOfLine): Counted[] {
  const counts = { search: searches, replay: replays, refusal: refusals };
  return Object.entries(counts).map(([kind, count]) => ({ mode, kind, outcome, count }));
}

const charts = { search: measures.searches, replay: measures.replays, refusal: measures.refusals };
const listKinds = { search: "search", replay: "replayed", refusal: "refused" };

async function runPhase(phase: Phase, mode: Mode): Promise<Sent[]> {
  const { kind, outcome, also = [], query, key: create = createKey, isRepeated = false, concurrency = 1 } = phase;
  const each = perKind / (phase.modes ?? modes).length / Object.keys(transports).length;
  const key = await create(mode);
  const counts = new Map<string, number>();
  const searching = Object.entries(transports).flatMap(([transport, send]) => {
    const headers = isRepeated ? { "idempotency-key": `${mode} ${transport}` } : {};
    let left = each;
    return Array.from({ length: concurrency }, async () => {
      while (left > 0) {
        const found = await send({ key, query: query?.[mode] ?? "cats", headers });
        assert.ok(found === outcome || also.includes(found), `${transport}, ${mode}: ${found} instead of ${outcome}`);
        if (found === outcome) left -= 1;
        counts.set(found, (counts.get(found) ?? 0) + 1);
      }
    });
  });
  await Promise.all(searching);
  return [...counts].map(([found, count]) => {
    const other = found === "ok" ? "search" : "refusal";
    return { mode, kind: found === outcome ? kind : other, outcome: found, count };
  });
}

/** The figures of the operator's console, of each phase. */
const ofServer: { phase: string; lines: readonly Sent[]; recent: Record<string, number> }[] = [];
let metrics = "";

before(async () => {
  try {
    // With the opening credit of 1.00, one cent for each successful live search.
    const amount = priceMicros * BigInt(perKind + Object.keys(transports).length) - 1_000_000n;
    await topUpBatch(db.owner, "top_up", [{ paymentId: walletId, walletId, amount }]);
    for (const phase of phases) {
      for (const mode of phase.modes ?? modes) {
        await upstream.behave(phase.upstream ?? "ok");
        const lines = await runPhase(phase, mode);
        mock.timers.tick(1_000);
        const { body } = await sender.operate("servers");
        ofServer.push({ phase: `${mode} ${phase.outcome}`, lines, recent: body.servers[0].recent });
        mock.timers.tick(minuteMs);
        sent.push(...lines);
      }
    }
    // Neither is a request: the first key does not exist, and the second cannot search.
    for (const key of [`${liveKey.slice(0, -4)}0000`, managementKey]) {
      for (const transport of ["http", "compat", "mcp"] as const)
        await transports[transport]({ key: { id: "", key }, query: "cats" });
    }
    metrics = await sender.readMetrics();
  } finally {
    await sender.close();
  }
});

test("200 requests of every kind were sent", (t) => {
  t.diagnostic(JSON.stringify(toTable(sent)));
  for (const { kind, outcome } of phases) {
    const count = sum(sentOf({ kind, outcome }));
    assert.ok(count >= perKind, `${count} ${outcome}`);
  }
});

test("the figures of the server count every request while it is sent", () => {
  for (const { phase, lines, recent } of ofServer) {
    const expected = (["search", "replay", "refusal"] as const).map((kind) => sum(sentOf({ kind }, lines)));
    assert.deepEqual([recent["searches"], recent["replays"], recent["refusals"]], expected, phase);
  }
});

test("the metrics count every request by kind, outcome and mode", () => {
  const counted = [...metrics.matchAll(/^pennyblack_search_requests_total\{(.*)\} (\d+)/gm)].map(
    ([, text = "", value]) => {
      const labels = Object.fromEntries([...text.matchAll(/(\w+)="(\w+)"/g)].map(([, name, label]) => [name, label]));
      return { mode: labels["mode"], kind: labels["kind"], outcome: labels["outcome"], count: Number(value) };
    },
  );
  assert.deepEqual(toTable(counted.filter(({ kind }) => kind !== "unauthenticated")), toTable(sent));
  assert.equal(sum(counted.filter(({ kind }) => kind === "unauthenticated")), 6);
});

const read = async (path: string): Promise<Reply["body"]> => {
  const { status, body } = await server.manage(managementKey, "GET", path);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};

for (const isRolledUp of [false, true]) {
  describe(isRolledUp ? "after the roll-up" : "before the roll-up", () => {
    before(async () => {
      if (!isRolledUp) return;
      await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
      assert.equal(await rollUpUsage(db.owner, new AbortController().signal), sum(sentOf({ kind: "search" })));
    });

    test("the summary and the hours of its chart have the same numbers", async () => {
      for (const mode of modes) assertSummary(mode, await read(`/v1/wallet/summary?mode=${mode}`));
    });

    test("usage, its chart and its CSV have the same numbers of each outcome", async () => {
      for (const by of ["hour", "day"] as const) {
        const report: UsageReport = await read(`/v1/usage?group=outcome&by=${by}`);
        assert.deepEqual(toTable(report.usage.flatMap(toLines)), toTable(sent), by);
        assert.deepEqual(toTable(readCsv(report)), toTable(sent), `CSV by ${by}`);
        for (const mode of modes)
          for (const kind of ["search", "replay", "refusal"] as const)
            assert.deepEqual(toTable(readChart(report, mode, kind)), toTable(sentOf({ mode, kind })), `chart by ${by}`);
      }
    });

    test("the list has as many, with those that it counts but does not list", async () => {
      for (const [name, count] of Object.entries(toTable(sent))) {
        const [mode, kind, outcome] = name.split(" ") as [Mode, Kind, string];
        const filter = `kind=${listKinds[kind]}&mode=${mode}&outcome=${outcome}&limit=100`;
        const { unlisted } = await read(`/v1/searches?${filter}`);
        const listed = await server.readPages(managementKey, `/v1/searches?${filter}`);
        assert.equal(listed.length + (unlisted?.count ?? 0), count, filter);
        assert.equal(unlisted?.at_least ?? false, false);
        // Of one key, 20 refusals and replays are stored per minute, and the others are only counted.
        assert.ok(kind === "search" ? listed.length === count : listed.length > 0 && listed.length < count, filter);
      }
    });
  });
}

function assertSummary(mode: Mode, { last_24h: day, hours }: WalletSummary): void {
  const expected = {
    searches: sum(sentOf({ mode, kind: "search" })),
    succeeded: sum(sentOf({ mode, outcome: "ok" })),
    replays: sum(sentOf({ mode, kind: "replay" })),
    refusals: sum(sentOf({ mode, kind: "refusal" })),
  };
  const { p50_ms: _p50, p95_ms: _p95, ...counts } = day;
  const rate = Number((expected.succeeded / expected.searches).toFixed(4));
  assert.deepEqual(counts, { ...expected, at_least: false, success_rate: rate }, mode);
  for (const name of ["searches", "succeeded", "replays", "refusals"] as const) {
    const count = hours.reduce((total, hour) => total + hour[name], 0);
    assert.equal(count, expected[name], `${name}, ${mode}`);
  }
  const cents = hours.reduce((total, { charged }) => total + Math.round(Number(charged) * 100), 0);
  assert.equal(cents, mode === "live" ? expected.succeeded : 0);
}

/** As the console exports it. */
function readCsv({ usage, by }: UsageReport): Counted[] {
  const csv = toUsageCsv(usage, { by, group: "outcome", keyNames: new Map() });
  const [, ...rows] = csv.trimEnd().split("\r\n");
  return rows.flatMap((row) => {
    const [, mode, outcome, searches, replays, refusals] = row.split(",");
    const counts = { searches: Number(searches), replays: Number(replays), refusals: Number(refusals) };
    return toLines({ mode, outcome, ...counts });
  });
}

/** The bars of the console's chart. */
function readChart({ usage, by, from, to }: UsageReport, mode: Mode, kind: Kind): Counted[] {
  const { numberOf } = charts[kind];
  const shown = usage.filter((line) => line.mode === mode);
  const options = { from, to, by, numberOf, labelOf: ({ outcome = "" }: UsagePeriod) => outcome };
  const { buckets, series } = pivot(shown, { ...options, group: "outcome" });
  const { cells } = totalOf(buckets, series.length);
  return series.map(({ name: outcome }, index) => {
    const cell = cells[index] ?? assert.fail();
    return { mode, kind, outcome, count: numberOf(cell) };
  });
}
