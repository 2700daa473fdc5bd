import { formatTable } from "../lib/format-table.ts";
import { type AuditLine, readAudit, readAuditSince } from "../operator/operator.ts";
import { type Command, type CommandContext, UsageError } from "./command.ts";
import { readId, readOptionalCount, readOptionalTime } from "./read-values.ts";

export const auditCommand: Command = {
  role: "operator",
  summary: "List operator actions, newest first. With --format jsonl, export all since TIME, oldest first.",
  options: ["--wallet <id>", "--limit <n>", "--json", "--format <jsonl>", "--since <time>"],
  run: listAudit,
};

const exportPageSize = 1_000;

async function listAudit(context: CommandContext): Promise<void> {
  const { values, pool, print } = context;
  if (values["format"] !== undefined) return exportAudit(context);
  if (values["since"] !== undefined) throw new UsageError("--since needs --format jsonl.");
  const walletId = values["wallet"] === undefined ? undefined : readId(values, "wallet");
  const lines = await readAudit(pool, { walletId, limit: readOptionalCount(values, "limit") ?? 50 });
  if (values["json"]) return print(JSON.stringify(lines.map((line) => ({ ...line, number: Number(line.number) }))));
  if (lines.length === 0) return print("The audit log is empty.");
  print(formatTable(lines.map(toCells), ["time", "operator", "action", "outcome", "subject", "USD", "reason"]));
}

/** One JSON object per line, for a log archive or a SIEM. */
async function exportAudit({ values, pool, print }: CommandContext): Promise<void> {
  if (values["format"] !== "jsonl") throw new UsageError("--format must be jsonl.");
  if (values["limit"] !== undefined || values["json"]) throw new UsageError("--format excludes --limit and --json.");
  const walletId = values["wallet"] === undefined ? undefined : readId(values, "wallet");
  const since = readOptionalTime(values, "since");
  for (let after = 0n; ; ) {
    const lines = await readAuditSince(pool, { walletId, since, after, limit: exportPageSize });
    for (const line of lines) print(JSON.stringify(toExport(line)));
    const last = lines.at(-1);
    if (!last || lines.length < exportPageSize) return;
    after = last.number;
  }
}

function toExport({ number, at, accountId, walletId, ...rest }: AuditLine): Record<string, unknown> {
  return { number: Number(number), at: at.toISOString(), account_id: accountId, wallet_id: walletId, ...rest };
}

function toCells({ at, operator, act, outcome, subject, after, reason }: AuditLine): string[] {
  const amount = after?.["amount"];
  return [at.toISOString(), operator, act, outcome, subject, typeof amount === "string" ? amount : "", reason];
}
