import { Readable } from "node:stream";
import type { Pool } from "../../db/pool.ts";
import { csvLine } from "../../lib/csv-line.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import { formatUsd, type Micros } from "../../lib/money.ts";
import { type FullEntry, publicKind, readBalanceAt, readEntriesForward } from "./read-wallet.ts";

const pageSize = 1_000;

/** The last three columns, and the microseconds of the first, are needed to recompute the digests of closed hours. */
const columns = [
  "created_at",
  "kind",
  "amount",
  "balance",
  "currency",
  "request_id",
  "id",
  "from_account",
  "to_account",
  "amount_micros",
];

/**
 * Streams the entries as CSV. One page is in memory at a time; the next is read when the consumer is ready for it.
 * Rejects if the database is unavailable at the start. A later failure destroys the stream.
 */
export async function exportEntries(pool: Pool, walletId: string, range: { from: Date; to: Date }): Promise<Readable> {
  const opening = await readBalanceAt(pool, walletId, range.from);
  return Readable.from(writeLines(pool, walletId, { ...range, opening }), { objectMode: false, highWaterMark: 1 });
}

async function* writeLines(
  pool: Pool,
  walletId: string,
  { from, to, opening }: { from: Date; to: Date; opening: Micros },
): AsyncGenerator<string> {
  yield csvLine(columns);
  const before = firstIdOf(to);
  let after = firstIdOf(from);
  let balance = opening;
  for (;;) {
    const page = await readEntriesForward(pool, walletId, { after, before, limit: pageSize });
    const last = page.at(-1);
    if (!last) return;
    let text = "";
    for (const entry of page) {
      balance += entry.amount;
      text += entryLine(entry, balance);
    }
    yield text;
    after = last.id;
  }
}

function entryLine(entry: FullEntry, balance: Micros): string {
  return csvLine([
    entry.createdAtMicros,
    publicKind(entry.kind),
    formatUsd(entry.amount),
    formatUsd(balance),
    "usd",
    entry.requestId ?? "",
    entry.id,
    entry.fromAccount,
    entry.toAccount,
    String(entry.amountMicros),
  ]);
}
