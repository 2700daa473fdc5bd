import type { AlertSettings } from "@pennyblack/sdk";
import type { Command } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions, orNone, parseUsd, toNullable } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { sanitize, table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

/** "none" turns one of them off. */
type SetOptions = CommonOptions & { email?: string; lowBalance?: string };

export function addAlertCommands(program: Command, context: Context): void {
  const alerts = program.command("alerts").description("manage the low-balance alert");
  addExamples(alerts, ["pennyblack alerts show", "pennyblack alerts set --low-balance 5.00 --email ops@example.com"]);

  const show = alerts.command("show").description("show the low-balance alert");
  addOptions(show).action((options: CommonOptions) => showAlerts(options, context));
  addExamples(show, ["pennyblack alerts show"]);

  const set = alerts
    .command("set")
    .description("change the low-balance alert (omitted settings stay unchanged)")
    .option("--low-balance <usd>", 'alert when the balance falls below this amount, or "none"', orNone(parseUsd))
    .option("--email <address>", 'address that receives alerts, or "none"');
  addOptions(set).action((options: SetOptions) => setAlerts(options, context));
  addExamples(set, [
    "pennyblack alerts set --low-balance 5.00 --email ops@example.com",
    "pennyblack alerts set --low-balance none",
  ]);
}

async function showAlerts(options: CommonOptions, context: Context): Promise<void> {
  printAlerts(await context.connect("manage", options).alerts.get(), options, context);
}

async function setAlerts(options: SetOptions, context: Context): Promise<void> {
  const { email, lowBalance } = options;
  if (email === undefined && lowBalance === undefined)
    throw new UsageError("No changes given. See: pennyblack alerts set --help");
  const client = context.connect("manage", options);
  // A change replaces both settings.
  const current = email === undefined || lowBalance === undefined ? await client.alerts.get() : undefined;
  const settings = {
    email: email === undefined ? (current?.email ?? null) : toNullable(email),
    low_balance: lowBalance === undefined ? (current?.low_balance ?? null) : toNullable(lowBalance),
  };
  printAlerts(await client.alerts.update(settings), options, context);
}

function printAlerts(settings: AlertSettings, { json }: CommonOptions, { print }: Context): void {
  const { email, low_balance: lowBalance } = settings;
  if (json) return print(JSON.stringify(settings));
  const rows = [
    ["Low balance", lowBalance === null ? "no alert" : `alert below ${lowBalance} USD`],
    ["Email", email === null ? "none" : sanitize(email)],
  ];
  print(table(rows));
}
