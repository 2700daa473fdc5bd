import { describeOutcome } from "../callers.ts";
import type { Journal } from "../journal.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { FaultRecord } from "./inject-faults.ts";

const maxLines = 12;

interface Line {
  text: string;
  sentAt: number;
  endedAt: number;
}

/** The journal entries and ledger rows of the ids in a violation, and the faults injected at that time. */
export async function formatHistory(
  cluster: ChaosCluster,
  violation: string,
  journal: Journal,
  records: readonly FaultRecord[],
): Promise<string> {
  const ids: readonly string[] = violation.match(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g) ?? [];
  const ofRequest: Line[] = [];
  const ofWallet: Line[] = [];
  for await (const line of journal.read()) {
    const { walletId, idempotencyKey = "no key", outcome, sentAt, endedAt, serverUrl, disconnected } = line;
    const isAnswered = outcome.kind === "answered";
    const isOfRequest = ids.includes(idempotencyKey) || (isAnswered && ids.includes(outcome.requestId));
    if (!isOfRequest && (!ids.includes(walletId) || ofWallet.length > maxLines)) continue;
    const details = isAnswered
      ? `${outcome.requestId} ${outcome.charge}`
      : `disconnected ${disconnected ?? "by server"}`;
    const server = cluster.servers.findIndex(({ url }) => url === serverUrl);
    const text = `  ${at(sentAt)} to ${at(endedAt)} server ${server}, ${idempotencyKey}: ${describeOutcome(outcome)} ${details}`;
    (isOfRequest ? ofRequest : ofWallet).push({ text, sentAt, endedAt });
  }
  // A wallet has many searches; they are irrelevant when the violation names a request.
  const lines = (ofRequest.length > 0 ? ofRequest : ofWallet).slice(0, maxLines);
  const from = Math.min(...lines.map((line) => line.sentAt)) - 5_000;
  const to = Math.max(...lines.map((line) => line.endedAt)) + 5_000;
  const meanwhile = records.filter(({ beganAt, endedAt }) => beganAt < to && endedAt > from).slice(0, maxLines);
  return [
    violation,
    ...lines.map((line) => line.text),
    // After an audit of the nodes there is no primary.
    ...(await readLedger(cluster, ids).catch(() => [])).map((row) => `  ledger: ${row}`),
    ...meanwhile.map(({ kind, beganAt, endedAt, detail }) => `  ${at(beganAt)} to ${at(endedAt)}: ${kind} ${detail}`),
  ].join("\n");
}

async function readLedger({ owner }: ChaosCluster, ids: readonly string[]): Promise<string[]> {
  const found = await owner.query<{ row: unknown }>(
    `select to_jsonb(s) - 'idempotency_hmac' as row from pb.searches s where id = any ($1)
     union all select to_jsonb(t) from pb.transfers t where search_id = any ($1)
     union all select to_jsonb(w) from pb.wallets w where id = any ($1)`,
    [ids],
  );
  return found.rows.map(({ row }) => JSON.stringify(row));
}

function at(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : "now";
}
