// The text that the digests of closed hours are computed from. pb.close_hour (server/sql/hours.sql) writes the same
// digests in SQL; this is an independent implementation, so that a fault in one of them is found.

/** A row of pb.transfers. */
export interface LedgerEntry {
  id: string;
  walletId: string;
  kind: string;
  fromAccount: string;
  toAccount: string;
  amountMicros: bigint;
  /** Microseconds since 1970. */
  createdAtMicros: bigint;
  searchId: string | null;
}

/** The digest before a wallet's first closed hour. */
export const firstDigest = Buffer.alloc(32);

export function formatEntry(entry: LedgerEntry): string {
  const { id, walletId, kind, fromAccount, toAccount, amountMicros, createdAtMicros, searchId } = entry;
  const createdAt = formatMicros(createdAtMicros);
  return `${id} ${walletId} ${kind} ${fromAccount} ${toAccount} ${amountMicros} ${createdAt} ${searchId ?? "-"}\n`;
}

/** "2026-11-16T05:00:00Z" */
export function formatHour(hour: Date): string {
  return hour.toISOString().replace(/\.\d+Z$/, "Z");
}

/** "2026-11-16T05:00:00.000001Z" */
export function formatMicros(micros: bigint): string {
  const millis = new Date(Number(micros / 1_000n)).toISOString().slice(0, -1);
  return `${millis}${String(micros % 1_000n).padStart(3, "0")}Z`;
}
