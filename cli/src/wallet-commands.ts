import { type Command, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions, parseUsd } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { drawUsage } from "./draw-usage.ts";
import { sanitize, table } from "./terminal.ts";

interface UsageOptions extends CommonOptions {
  from?: string;
  to?: string;
  by: "hour" | "day";
}

export function addWalletCommands(program: Command, context: Context): void {
  const wallet = program.command("wallet").description("show the wallet balance");
  addOptions(wallet).action((options: CommonOptions) => printWallet(options, context));
  addExamples(wallet, ["pennyblack wallet", "pennyblack wallet --json | jq -r .available"]);

  const usage = program
    .command("usage")
    .description("show searches and charges (default: last 30 days)")
    .option("--from <time>", "start date or time, such as 2026-11-01")
    .option("--to <time>", "end date or time (exclusive)")
    .addOption(new Option("--by <interval>", "interval per line").choices(["hour", "day"]).default("day"));
  addOptions(usage).action((options: UsageOptions) => printUsage(options, context));
  addExamples(usage, ["pennyblack usage", "pennyblack usage --by hour --from 2026-11-16"]);

  const receipt = program
    .command("receipt")
    .argument("<request-id>", "the Request-Id of a search")
    .description("print the signed receipt of a search");
  addOptions(receipt).action((requestId: string, options: CommonOptions) => printReceipt(requestId, options, context));
  addExamples(receipt, ["pennyblack receipt 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10 > receipt.jws"]);

  const topUp = program
    .command("top-up")
    .argument("<amount>", "amount in USD, such as 20.00", parseUsd)
    .description("create a payment link to top up the wallet");
  addOptions(topUp).action((amount: string, options: CommonOptions) => createTopUp(amount, options, context));
  addExamples(topUp, ["pennyblack top-up 20.00"]);
}

async function printWallet(options: CommonOptions, { connect, print, terminal }: Context): Promise<void> {
  const wallet = await connect("manage", options).wallet();
  if (options.json) return print(JSON.stringify(wallet));
  const rows = [
    ["Wallet", sanitize(wallet.name)],
    ["Balance", `${wallet.balance} USD`],
    ["Held", `${wallet.held} USD`],
    ["Available", terminal.paint("green", `${wallet.available} USD`)],
    ["Price", `${wallet.price} USD per search`],
  ];
  print(table(rows));
  if (wallet.suspended) print("The operator has suspended this wallet. Its API keys are rejected.");
}

async function printUsage(options: UsageOptions, { connect, print, terminal }: Context): Promise<void> {
  const { from, to, by, json } = options;
  const usage = connect("manage", options).usage({ ...(from && { from }), ...(to && { to }), by });
  const lines = await Array.fromAsync(usage);
  print(json ? JSON.stringify({ by, usage: lines }) : drawUsage(lines, by, terminal));
}

async function printReceipt(requestId: string, options: CommonOptions, { connect, print }: Context): Promise<void> {
  const answer = await connect("manage", options).receipt(requestId);
  print(options.json ? JSON.stringify(answer) : sanitize(answer.receipt));
}

async function createTopUp(amount: string, options: CommonOptions, context: Context): Promise<void> {
  const { connect, print, printInfo } = context;
  const topUp = await connect("manage", options).topUps.create({ amount });
  if (options.json) return print(JSON.stringify(topUp));
  if (topUp.checkout_url === null) return print(`The top-up is ${topUp.status}.`);
  printInfo("Open this link to pay. You are not charged until you do.");
  print(sanitize(topUp.checkout_url));
}
