import type pg from "pg";
import { createPool } from "../../src/db/pool.ts";
import { formatReport, reconcile } from "../../src/wallet/wallet.ts";
import { auditChecks, auditCounts, prepareAudit } from "./audit-queries.ts";
import type { SearchRecord } from "./journal.ts";

// Compares the clients' journal with the ledger, in one snapshot and in plain SQL, so that a million entries fit. This
// comparison uses only the contract and the tables and shares no code with the server. The server's own reconciliation runs
// after it.
//
//   a 200 with Wallet-Charge 0.01   charged once, one cent, to that wallet
//   a replayed 200                  not charged, and its key was paid for once
//   a 402                           not charged, and the balance was too low
//   any other answer                not charged
//   a closed connection             charged at most once
//   an Idempotency-Key              charged at most once, and always answered the same

export interface AuditReport {
  /** The first few of each kind. */
  violations: string[];
  counts: {
    charged: number;
    /** Of those charged, the searches that the ledger has no charge for. */
    lost: number;
    replayed: number;
    errors: number;
    closedCharged: number;
    closedFree: number;
  };
}

type SearchRecords = Iterable<SearchRecord> | AsyncIterable<SearchRecord>;

/** Run it when no search is in flight: a hold that is still pending is a violation. */
export async function audit(ownerUrl: string, journal: SearchRecords): Promise<AuditReport> {
  const pool = createPool({
    url: ownerUrl,
    name: "audit",
    connections: 1,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  });
  try {
    const { violations, counts } = await compareWithLedger(pool, journal);
    const report = await reconcile(pool);
    return { violations: report.isClean ? violations : [...violations, formatReport(report)], counts };
  } finally {
    await pool.end();
  }
}

async function compareWithLedger(pool: pg.Pool, journal: SearchRecords): Promise<AuditReport> {
  const client = await pool.connect();
  try {
    await client.query("set jit = off; set work_mem = '64MB'");
    await client.query(prepareAudit.searched);
    await copyJournal(client, journal);
    await client.query("begin isolation level repeatable read");
    await client.query(prepareAudit.ledger);
    const violations: string[] = [];
    for (const check of auditChecks) {
      const { rows } = await client.query<{ violation: string }>(`${check} limit 20`);
      violations.push(...rows.map((row) => row.violation));
    }
    const { rows } = await client.query<Record<keyof AuditReport["counts"], string>>(auditCounts);
    const counts = Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]));
    return { violations, counts: counts as AuditReport["counts"] };
  } finally {
    // With its transaction and temporary tables.
    client.release(true);
  }
}

const rowsPerInsert = 5_000;

async function copyJournal(client: pg.PoolClient, journal: SearchRecords): Promise<void> {
  let rows: SearchRecord[] = [];
  const insert = async (): Promise<void> => {
    await client.query(
      `insert into searched
       select * from unnest($1::uuid[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::uuid[], $7::text[], $8::boolean[], $9::text[])`,
      [
        rows.map(({ walletId }) => walletId),
        rows.map(({ idempotencyKey }) => idempotencyKey ?? null),
        rows.map(({ outcome }) => outcome.kind),
        ...(["status", "code", "requestId", "charge", "isReplayed", "text"] as const).map((name) =>
          rows.map(({ outcome }) => (outcome.kind === "answered" ? (outcome[name] ?? null) : null)),
        ),
      ],
    );
    rows = [];
  };
  for await (const entry of journal) {
    rows.push(entry);
    if (rows.length === rowsPerInsert) await insert();
  }
  await insert();
}
