import { refund as refundSearch } from "../operator/operator.ts";
import { formatReport, reconcile } from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed } from "./command.ts";
import { readId, readText } from "./read-values.ts";

export const refundCommand: Command = {
  role: "operator",
  changes: true,
  summary: "Refund a charged search, at most once.",
  required: ["--request-id <id>", "--reason <text>"],
  run: refund,
};

export const reconcileCommand: Command = {
  role: "worker",
  summary: "Check the ledger against every search. Exits with 1 if they differ.",
  options: ["--json"],
  run: runReconciliation,
};

async function refund({ values, pool, print, act }: CommandContext): Promise<void> {
  const searchId = readId(values, "request-id");
  readText(values, "reason");
  const outcome = await refundSearch(pool, act, searchId);
  if (outcome === "not_captured")
    throw new CommandFailed(`No charged search has the Request-Id ${searchId}. A refused request is never charged.`);
  print(outcome === "refunded" ? "Refunded 0.01 USD." : "The search was already refunded. Nothing changed.");
}

async function runReconciliation({ values, pool, print }: CommandContext): Promise<void> {
  const report = await reconcile(pool);
  print(values["json"] ? JSON.stringify(report) : formatReport(report));
  if (!report.isClean)
    throw new CommandFailed(
      "The ledger does not reconcile. Save this report and find the cause before changing any data.",
    );
}
