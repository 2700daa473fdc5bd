import pg from "pg";
import type { CallerLog } from "./caller-log.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { FaultRecord } from "./draw-faults.ts";

const maxLines = 12;

interface Line {
  text: string;
  sentAt: number;
  endedAt: number;
}

/** All that is known of what a violation names: what its callers saw, what the ledger has, what was done meanwhile. */
export async function formatHistory(
  fixture: ChaosCluster,
  fault: string,
  log: CallerLog,
  records: readonly FaultRecord[],
): Promise<string> {
  const ids: readonly string[] = fault.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? [];
  const ofRequest: Line[] = [];
  const ofWallet: Line[] = [];
  for await (const line of log.read()) {
    const { walletId, idempotencyKey, seen, sentAt, endedAt, server, note } = line;
    const isOfRequest =
      ids.includes(idempotencyKey ?? "") || (seen.kind === "answered" && ids.includes(seen.requestId));
    if (!isOfRequest && (!ids.includes(walletId) || ofWallet.length > maxLines)) continue;
    const told =
      seen.kind === "answered" ? `${seen.status} ${seen.code ?? ""} ${seen.requestId} ${seen.charge}` : seen.kind;
    const text = `  ${at(sentAt)} to ${at(endedAt)} server ${server}, ${note} ${idempotencyKey ?? ""}: ${told}`;
    (isOfRequest ? ofRequest : ofWallet).push({ text, sentAt, endedAt });
  }
  // A wallet has many searches; where the request itself is named, they say nothing.
  const lines = (ofRequest.length > 0 ? ofRequest : ofWallet).slice(0, maxLines);
  const from = Math.min(...lines.map((line) => line.sentAt)) - 5_000;
  const to = Math.max(...lines.map((line) => line.endedAt)) + 5_000;
  const meanwhile = records.filter(({ beganAt, endedAt }) => beganAt < to && endedAt > from).slice(0, maxLines);
  return [
    fault,
    ...lines.map((line) => line.text),
    ...(await readLedger(fixture, ids)).map((row) => `  ledger: ${row}`),
    ...meanwhile.map(({ kind, beganAt, endedAt, detail }) => `  ${at(beganAt)} to ${at(endedAt)}: ${kind} ${detail}`),
  ].join("\n");
}

async function readLedger(fixture: ChaosCluster, ids: readonly string[]): Promise<string[]> {
  const primary = await fixture.pair.findPrimary();
  if (!primary) return ["no primary"];
  const url = new URL(primary.url);
  url.pathname = "/pennyblack";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    const rows: string[] = [];
    for (const statement of [
      "select to_jsonb(s) - 'idempotency_hmac' as row from pb.searches s where id = any ($1)",
      "select to_jsonb(t) as row from pb.transfers t where search_id = any ($1)",
      "select to_jsonb(w) as row from pb.wallets w where id = any ($1)",
    ]) {
      const found = await client.query<{ row: unknown }>(statement, [ids]);
      rows.push(...found.rows.map(({ row }) => JSON.stringify(row)));
    }
    return rows;
  } finally {
    await client.end();
  }
}

function at(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : "now";
}
