import pg from "pg";
import { createPool } from "../../../src/db/pool.ts";
import { formatReport, reconcile } from "../../../src/wallet/wallet.ts";
import { until } from "../../support/assertions/until.ts";
import { type AuditReport, audit } from "../audit.ts";
import type { BalanceWatch } from "../watch-balances.ts";
import type { CallerLog } from "./caller-log.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { Owners } from "./owners.ts";

export interface AuditResult {
  faults: string[];
  counts: AuditReport["counts"];
  snapshots: number;
}

export interface Evidence {
  fixture: ChaosCluster;
  log: CallerLog;
  owners: Owners;
  watch: BalanceWatch;
  /** Wallets that were told they had too little, and never got more. */
  emptied: ReadonlySet<string>;
  holdLifeMs: number;
}

/** What everyone saw against what the books say, when the dust has settled. */
export async function auditChaos({ fixture, log, owners, watch, emptied, holdLifeMs }: Evidence): Promise<AuditResult> {
  const primary = await fixture.pair.findPrimary();
  if (!primary) throw new Error("there is no primary to judge");
  const at = new URL(primary.url);
  at.pathname = "/pennyblack";
  const client = new pg.Client({ connectionString: at.href });
  await client.connect();
  try {
    const faults: string[] = [];
    // By the worker and nobody else.
    await until("every hold has ended", () => hasNoHolds(client), holdLifeMs + 60_000).catch((error: unknown) =>
      faults.push(String(error)),
    );
    const watched = await watch.stop();
    faults.push(...watched.faults.slice(0, 20), ...owners.faults, ...(await owners.findLosses(client)));
    faults.push(...(await findFalseRefusals(client, emptied)));
    faults.push(...(await findDifferences(at.href)));
    at.username = "pennyblack_owner";
    const audited = await audit(at.href, log.read());
    return { faults: [...faults, ...audited.faults], counts: audited.counts, snapshots: watched.snapshots };
  } finally {
    await client.end();
  }
}

async function hasNoHolds(client: pg.Client): Promise<boolean> {
  return (await client.query("select from pb.wallets where held_micros > 0 limit 1")).rowCount === 0;
}

/** A 402 that says the wallet is empty is true for good, as long as nobody tops it up. */
async function findFalseRefusals(client: pg.Client, emptied: ReadonlySet<string>): Promise<string[]> {
  const { rows } = await client.query<{ id: string; left: string }>(
    `select id, credited_micros - debited_micros as left from pb.wallets
     where id = any ($1) and credited_micros - debited_micros >= 10000 limit 20`,
    [[...emptied]],
  );
  return rows.map((row) => `wallet ${row.id} was told 402, and has ${row.left} micro-USD left`);
}

async function findDifferences(url: string): Promise<string[]> {
  const pool = createPool({
    url,
    name: "chaos",
    connections: 1,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  });
  try {
    const report = await reconcile(pool);
    return report.isClean ? [] : [formatReport(report)];
  } finally {
    await pool.end();
  }
}
