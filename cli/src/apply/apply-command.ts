import { type Pennyblack, PennyblackError } from "@pennyblack/sdk";
import type { Command } from "commander";
import { addExamples } from "../add-examples.ts";
import { addOptions } from "../common-options.ts";
import type { CommonOptions, Context } from "../context.ts";
import { DifferenceFound } from "../exit-code.ts";
import { readApplyFile } from "./apply-file.ts";
import type { ApplyRun, Change, Plan } from "./change.ts";
import { formatChange, formatPlan, toJson } from "./format-plan.ts";
import { makePlan } from "./plan.ts";
import { openSecretFiles, type SecretFiles } from "./secret-files.ts";

type ApplyOptions = CommonOptions & { plan?: boolean; secrets?: string };

export function addApplyCommand(program: Command, context: Context): void {
  const command = program
    .command("apply")
    .argument("<file>", "settings of a wallet, such as pennyblack.json")
    .description("create and change keys, budgets, webhooks, alerts and the automatic top-up to match a file")
    .option("--plan", "print the changes without making them; exits with 2 if there are any")
    .option("--secrets <folder>", "folder for the files with new secrets, readable only by you");
  addOptions(command).action((file: string, options: ApplyOptions) => applyFile(file, options, context));
  addExamples(command, [
    "pennyblack apply pennyblack.json --plan",
    "pennyblack apply pennyblack.json --secrets ./secrets",
  ]);
}

async function applyFile(path: string, options: ApplyOptions, context: Context): Promise<void> {
  const file = readApplyFile(path);
  const secrets = options.secrets === undefined ? undefined : openSecretFiles(options.secrets);
  const client = context.connect("manage", options);
  const plan = await makePlan(client, file, secrets);
  if (options.plan) {
    context.print(options.json ? toJson(plan) : formatPlan(plan));
    if (plan.changes.length > 0) throw new DifferenceFound();
    return;
  }
  checkSecretFiles(plan, secrets);
  if (!options.json) context.print(formatPlan(plan));
  await applyPlan(plan, { client, secrets, context });
  if (options.json) context.print(toJson(plan));
}

/** Checked first, because a secret that cannot be written would be lost. */
function checkSecretFiles({ changes }: Plan, secrets: SecretFiles | undefined): void {
  const names = changes.flatMap(({ secretFile }) => secretFile ?? []);
  if (names.length === 0) return;
  if (!secrets)
    throw new Error(
      "The file creates keys or webhooks. Name a folder for their secrets with --secrets. Nothing was changed.",
    );
  const written = names.find((name) => secrets.stateOf(name) === "written");
  if (written !== undefined)
    throw new Error(`The folder for secrets already has a file ${written}. Move or delete it. Nothing was changed.`);
  for (const name of names) secrets.reserve(name);
}

interface Applying {
  client: Pennyblack;
  secrets: SecretFiles | undefined;
  context: Context;
}

async function applyPlan(
  { changes, budgetIds }: Plan,
  { client, secrets, context: { printInfo } }: Applying,
): Promise<void> {
  const run: ApplyRun = { client, budgetIds };
  for (const [index, change] of changes.entries()) {
    try {
      await applyChange(change, run, secrets, printInfo);
    } catch (error) {
      if (wasRefused(error)) removeReserved(changes.slice(index), secrets);
      else removeReserved(changes.slice(index + 1), secrets);
      printInfo(`${index} of ${changes.length} changes were made. To make the others, run the command again.`);
      throw error;
    }
  }
}

async function applyChange(
  change: Change,
  run: ApplyRun,
  secrets: SecretFiles | undefined,
  printInfo: Context["printInfo"],
): Promise<void> {
  const secret = await change.apply(run);
  const path =
    typeof secret === "string" && change.secretFile !== undefined
      ? secrets?.write(change.secretFile, secret)
      : undefined;
  printInfo(`Done: ${formatChange(change)}${path === undefined ? "" : `, secret in ${path}`}`);
}

/** The server has changed nothing. After other failures, the object may exist, and its secret is lost. */
function wasRefused(error: unknown): boolean {
  return error instanceof PennyblackError && error.status !== undefined && error.status < 500;
}

/** An empty file would mean that the secret of an object was lost. */
function removeReserved(changes: readonly Change[], secrets: SecretFiles | undefined): void {
  for (const { action, secretFile } of changes)
    if (action === "create" && secretFile !== undefined) secrets?.removeEmpty(secretFile);
}
