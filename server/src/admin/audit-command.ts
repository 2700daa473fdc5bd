import { formatUsd } from "../lib/money.ts";
import { type AuditLine, readAudit } from "../operator/operator.ts";
import type { Command, CommandContext } from "./command.ts";
import { formatTable } from "./format-table.ts";
import { readId, readOptionalCount } from "./read-values.ts";

export const auditCommand: Command = {
  role: "operator",
  usage: "[--wallet ID] [--limit 50] [--json]",
  summary: "List operator actions, newest first.",
  options: { wallet: { type: "string" }, limit: { type: "string" }, json: { type: "boolean" } },
  run: listAudit,
};

async function listAudit({ values, pool, print }: CommandContext): Promise<void> {
  const walletId = values["wallet"] === undefined ? undefined : readId(values, "wallet");
  const lines = await readAudit(pool, { walletId, limit: readOptionalCount(values, "limit") ?? 50 });
  if (values["json"]) return print(JSON.stringify(lines.map((line) => ({ ...line, number: Number(line.number) }))));
  if (lines.length === 0) return print("The audit log is empty.");
  print(formatTable(lines.map(toCells), ["time", "operator", "action", "outcome", "target", "USD", "reason"]));
}

function toCells({ at, operator, act, outcome, target, details, reason }: AuditLine): string[] {
  const amount = details["amount_micros"];
  const usd = typeof amount === "number" ? formatUsd(BigInt(amount)) : "";
  return [at.toISOString(), operator, act, outcome, target, usd, reason];
}
