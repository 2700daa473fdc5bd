import type { UsageLine } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import type { Bench, CommonOptions } from "./bench.ts";
import { readUsd, withAccess } from "./common-options.ts";
import { drawUsage } from "./draw-usage.ts";
import { harmless, table } from "./terminal.ts";

interface UsageOptions extends CommonOptions {
  from?: string;
  to?: string;
  by: "hour" | "day";
}

export function addWalletCommands(program: Command, bench: Bench): void {
  withAccess(program.command("wallet").description("show what the wallet holds")).action((options: CommonOptions) =>
    showWallet(options, bench),
  );
  const usage = program
    .command("usage")
    .description("count searches and what they cost, over the last 30 days")
    .option("--from <moment>", "a day or moment, such as 2026-11-01")
    .option("--to <moment>", "a day or moment, not included")
    .addOption(new Option("--by <step>", "a line for each").choices(["hour", "day"]).default("day"));
  withAccess(usage).action((options: UsageOptions) => showUsage(options, bench));
  const topUp = program.command("top-up").argument("<amount>", "in USD, such as 20.00", readUsd);
  withAccess(topUp.description("open a page where the wallet's owner adds money")).action(
    (amount: string, options: CommonOptions) => openTopUp(amount, options, bench),
  );
}

async function showWallet(options: CommonOptions, { connect, print, terminal }: Bench): Promise<void> {
  const wallet = await connect("manage", options).wallet();
  if (options.json) return print(JSON.stringify(wallet));
  const rows = [
    ["Wallet", harmless(wallet.name)],
    ["Balance", `${wallet.balance} USD`],
    ["Held", `${wallet.held} USD`],
    ["Available", terminal.paint("green", `${wallet.available} USD`)],
    ["Price", `${wallet.price} USD a search`],
  ];
  print(table(rows));
  if (wallet.suspended) print("The operator has suspended this wallet: its keys are refused.");
}

async function showUsage(options: UsageOptions, { connect, print, terminal }: Bench): Promise<void> {
  const { from, to, by, json } = options;
  const lines: UsageLine[] = [];
  const usage = connect("manage", options).usage({ ...(from && { from }), ...(to && { to }), by });
  for await (const line of usage) lines.push(line);
  print(json ? JSON.stringify({ by, usage: lines }) : drawUsage(lines, by, terminal));
}

async function openTopUp(amount: string, options: CommonOptions, { connect, print, remark }: Bench): Promise<void> {
  const topUp = await connect("manage", options).topUps.create({ amount });
  if (options.json) return print(JSON.stringify(topUp));
  if (topUp.checkout_url === null) return print(`The top-up is ${topUp.status}.`);
  remark("Open this address to pay. Nothing is charged before you do.");
  print(harmless(topUp.checkout_url));
}
