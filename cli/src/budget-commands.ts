import { type Budget, formatUsd, PennyblackError, toMicros } from "@pennyblack/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { openApprovals } from "./approve-command.ts";
import { addOptions, parseUsd } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { findBudget, listBudgets } from "./find-budget.ts";
import { formatRest } from "./format-key.ts";
import { formatTime, sanitize, table } from "./terminal.ts";
import { UsageError } from "./usage-error.ts";

type CreateOptions = CommonOptions &
  Pick<Budget, "mode" | "name" | "amount" | "period"> & { perEndUser?: boolean; alert?: number[] };
type UpdateOptions = CommonOptions & { name?: string; amount?: string; alert?: number[] };
type ArchiveOptions = CommonOptions & { yes?: boolean };

const budgetArgument = ["<budget>", "id or name of the budget"] as const;

export function addBudgetCommands(program: Command, context: Context): void {
  const budgets = program.command("budgets").description("manage the budgets that several keys share");
  addExamples(budgets, [
    "pennyblack budgets list",
    "pennyblack budgets create --name research --amount 50 --period month",
    "pennyblack keys update batch --budget research",
  ]);
  const list = budgets.command("list").description("list shared budgets and their spending");
  addOptions(list).action((options: CommonOptions) => printBudgets(options, context));
  addExamples(list, ["pennyblack budgets list", "pennyblack budgets list --json | jq -r '.budgets[].name'"]);
  addChangeCommands(budgets, context);
  const approve = budgets
    .command("approve")
    .description("open the page where you approve or deny requests for a higher budget");
  addOptions(approve).action((options: CommonOptions) => openApprovals(options, context));
  addExamples(approve, ["pennyblack budgets approve"]);
}

function addChangeCommands(budgets: Command, context: Context): void {
  const create = budgets
    .command("create")
    .description("create a shared budget")
    .requiredOption("--name <name>", "a name for the budget")
    .requiredOption("--amount <usd>", "amount per period", parseUsd)
    .addOption(
      new Option("--period <period>", "when the budget resets (UTC); total never does")
        .choices(["total", "day", "week", "month"])
        .makeOptionMandatory(),
    )
    .addOption(new Option("--mode <mode>", "type of its keys").choices(["live", "test"]).default("live"))
    .option("--per-end-user", "give each end user the amount, instead of all searches together");
  addOptions(addAlertOption(create)).action((options: CreateOptions) => createBudget(options, context));
  addExamples(create, [
    "pennyblack budgets create --name research --amount 50 --period month --alert 50 80 95",
    "pennyblack budgets create --name chat --amount 0.50 --period day --per-end-user",
  ]);

  const update = budgets
    .command("update")
    .argument(...budgetArgument)
    .description("change the name, amount or warnings of a shared budget")
    .option("--name <name>", "a new name for the budget")
    .option("--amount <usd>", "a new amount, which applies to the current period", parseUsd);
  addOptions(addAlertOption(update)).action((budget: string, options: UpdateOptions) =>
    updateBudget(budget, options, context),
  );
  addExamples(update, [
    "pennyblack budgets update research --amount 75",
    "pennyblack budgets update chat --name support",
  ]);

  const archive = budgets
    .command("archive")
    .argument(...budgetArgument)
    .description("permanently archive a shared budget that no key uses")
    .option("--yes", "confirm");
  addOptions(archive).action((budget: string, options: ArchiveOptions) => archiveBudget(budget, options, context));
  addExamples(archive, ["pennyblack budgets archive research --yes"]);
}

function addAlertOption(command: Command): Command {
  return command.option("--alert <percent...>", "percentages at which to warn, 1 to 99", collectPercent);
}

function collectPercent(text: string, percentages: number[] = []): number[] {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError("Expected a whole number from 1 to 99.");
  return [...percentages, Number(text)];
}

async function printBudgets(options: CommonOptions, { connect, print }: Context): Promise<void> {
  const budgets = await listBudgets(connect("manage", options));
  if (options.json) return print(JSON.stringify({ budgets }));
  if (budgets.length === 0) return print("No shared budgets.");
  const rows = budgets.map((budget) => [
    budget.id,
    budget.mode,
    budget.spent === null
      ? `${budget.amount} per end user`
      : `${budget.spent}/${budget.amount}${budget.increase ? `+${budget.increase.amount}` : ""}`,
    budget.period,
    budget.resets_at === null ? "-" : formatTime(budget.resets_at),
    formatAlerts(budget),
    sanitize(budget.name),
  ]);
  print(table([["ID", "MODE", "SPENT/AMOUNT", "PERIOD", "RESETS", "WARNINGS", "NAME"], ...rows]));
}

async function createBudget(options: CreateOptions, context: Context): Promise<void> {
  const { name, amount, period, mode, perEndUser, alert } = options;
  const budget = await context.connect("manage", options).budgets.create({
    mode,
    name,
    amount,
    period,
    ...(perEndUser && { per: "end_user" }),
    ...(alert && { alerts: alert }),
  });
  outputBudget(budget, options, context);
}

async function updateBudget(idOrName: string, options: UpdateOptions, context: Context): Promise<void> {
  const { name, amount, alert } = options;
  const changes = {
    ...(name !== undefined && { name }),
    ...(amount !== undefined && { amount }),
    ...(alert && { alerts: alert }),
  };
  if (Object.keys(changes).length === 0)
    throw new UsageError("No changes given. See: pennyblack budgets update --help");
  const client = context.connect("manage", options);
  const { id } = await findBudget(client, idOrName);
  outputBudget(await client.budgets.update(id, changes), options, context);
}

async function archiveBudget(idOrName: string, options: ArchiveOptions, context: Context): Promise<void> {
  if (!options.yes) throw new UsageError("Archiving a budget cannot be undone. Add --yes to confirm.");
  const client = context.connect("manage", options);
  const { id, name } = await findBudget(client, idOrName);
  const budget = await client.budgets.archive(id).catch((error: unknown) => {
    if (!options.json && error instanceof PennyblackError && error.is("budget_in_use")) {
      const keys = error.problem.keys.map((key) => `  ${key.id}  ${sanitize(key.name)}`);
      context.printInfo(`These keys use the budget "${sanitize(name)}":\n${keys.join("\n")}`);
    }
    throw error;
  });
  context.print(options.json ? JSON.stringify(budget) : `Archived: ${sanitize(budget.name)}`);
}

function outputBudget(budget: Budget, { json }: CommonOptions, { print }: Context): void {
  if (json) return print(JSON.stringify(budget));
  const { id, name, mode, amount, increase, period, spent, resets_at: resetsAt } = budget;
  const limit = increase ? formatUsd(toMicros(amount) + toMicros(increase.amount)) : amount;
  const per = [...(period === "total" ? [] : [`per ${period}`]), ...(spent === null ? ["per end user"] : [])];
  const spending = spent === null ? [] : [["Spent", `${spent} USD, ${formatRest({ limit, spent })} USD left`]];
  print(
    table([
      ["Budget", sanitize(name)],
      ["ID", id],
      ["Mode", mode],
      ["Amount", [`${amount} USD`, ...per].join(" ")],
      ...(increase ? [["Increase", `${increase.amount} USD more until ${formatTime(increase.ends_at)}`]] : []),
      ...spending,
      ["Resets", resetsAt === null ? "never" : formatTime(resetsAt)],
      ["Warnings", formatAlerts(budget)],
    ]),
  );
}

function formatAlerts({ alerts }: Budget): string {
  return alerts.length === 0 ? "none" : alerts.map((percent) => `${percent}%`).join(", ");
}
