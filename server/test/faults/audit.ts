import pg from "pg";
import { auditChecks, auditCounts, prepareAudit } from "./audit-queries.ts";
import type { JournalEntry } from "./journal.ts";

// The second opinion. It knows the contract and the tables, and shares no code with the server: what the clients wrote
// down is put beside the ledger's rows and counted again, in one snapshot and in plain SQL, so that a million entries
// fit.
//
//   a 200 that says 0.01      charged once, that much, to that wallet
//   a 200 that is replayed    charged nothing, and its key was paid for once
//   any other answer          charged nothing
//   a closed connection       charged or not, at most once
//   an Idempotency-Key        charged at most once, and always answered the same

export interface AuditReport {
  /** The first few of each kind. */
  faults: string[];
  counts: { charged: number; replayed: number; errors: number; closedCharged: number; closedFree: number };
}

/** To be asked after the dust has settled: a hold that is still pending is a fault. */
export async function audit(
  ownerUrl: string,
  journal: Iterable<JournalEntry> | AsyncIterable<JournalEntry>,
): Promise<AuditReport> {
  const client = new pg.Client({ connectionString: ownerUrl, options: "-c jit=off -c work_mem=64MB" });
  await client.connect();
  try {
    await client.query(prepareAudit.seen);
    await copyJournal(client, journal);
    await client.query("begin isolation level repeatable read");
    await client.query(prepareAudit.ledger);
    const faults: string[] = [];
    for (const check of auditChecks) {
      const { rows } = await client.query<{ fault: string }>(`${check} limit 20`);
      faults.push(...rows.map((row) => row.fault));
    }
    const { rows } = await client.query<Record<keyof AuditReport["counts"], string>>(auditCounts);
    const counts = Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, count]) => [name, Number(count)]));
    return { faults, counts: counts as AuditReport["counts"] };
  } finally {
    await client.end();
  }
}

const rowsPerInsert = 5_000;

async function copyJournal(
  client: pg.Client,
  journal: Iterable<JournalEntry> | AsyncIterable<JournalEntry>,
): Promise<void> {
  let rows: JournalEntry[] = [];
  const insert = async (): Promise<void> => {
    await client.query(
      `insert into seen
       select * from unnest($1::uuid[], $2::text[], $3::text[], $4::integer[], $5::text[], $6::uuid[], $7::text[], $8::boolean[], $9::text[])`,
      [
        rows.map(({ walletId }) => walletId),
        rows.map(({ idempotencyKey }) => idempotencyKey ?? null),
        rows.map(({ seen }) => seen.kind),
        ...(["status", "code", "requestId", "charge", "isReplayed", "text"] as const).map((name) =>
          rows.map(({ seen }) => (seen.kind === "answered" ? (seen[name] ?? null) : null)),
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
