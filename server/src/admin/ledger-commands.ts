import { refund as giveBack } from "../operator/operator.ts";
import { findSearchWallet, formatReport, reconcile } from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed } from "./command.ts";
import { readId, readReason, readText } from "./read-values.ts";

export const refundCommand: Command = {
  usage: '--request-id ID --reason "why"',
  summary: "Give the price of a captured search back, at most once.",
  options: { "request-id": { type: "string" }, reason: { type: "string" } },
  run: refund,
};

export const reconcileCommand: Command = {
  usage: "[--json]",
  summary: "Compare the books with every search; exit 1 if they differ.",
  options: { json: { type: "boolean" } },
  run: compareBooks,
};

async function refund({ values, pool, print, operator }: CommandContext): Promise<void> {
  const searchId = readId(values, "request-id");
  readText(values, "reason");
  const walletId = await findSearchWallet(pool, searchId);
  if (!walletId)
    throw new CommandFailed(`No search has the Request-Id ${searchId}. A search that was refused has no charge.`);
  const outcome = await giveBack(pool, { operator, reason: readReason(values) }, searchId);
  if (outcome === "not_captured")
    throw new CommandFailed("That search was not charged, so there is nothing to give back.");
  print(outcome === "refunded" ? "Refunded 0.01 USD." : "That search was already refunded; nothing changed.");
}

async function compareBooks({ values, pool, print }: CommandContext): Promise<void> {
  const report = await reconcile(pool);
  print(values["json"] ? JSON.stringify(report) : formatReport(report));
  if (!report.isClean)
    throw new CommandFailed(
      "The books do not add up. Change nothing by hand: keep this report and find the cause first.",
    );
}
