import type { Queryable } from "../db/pool.ts";
import { recordAct } from "../db/record-act.ts";
import { resealEmails } from "../email/email.ts";
import { formatTable } from "../lib/format-table.ts";
import type { Resealed } from "../lib/secrets.ts";
import { countDataKeys, replaceDataKeys, resealDataKeys } from "../wallet/wallet.ts";
import { resealWebhookSecrets } from "../webhooks/webhooks.ts";
import { type Command, type CommandContext, CommandFailed } from "./command.ts";

// Rotation of PENNYBLACK_SECRET, step by step in docs/runbooks/rotate-secret.md.

export const secretCommands: Record<string, Command> = {
  status: {
    role: "operator",
    summary: "Show the secrets that each server and worker lists, and the data keys under each.",
    run: showStatus,
  },
  reseal: {
    role: "owner",
    changes: true,
    summary: "Encrypt stored values under the first secret. Fails while a server or worker does not list it.",
    run: reseal,
  },
  "replace-data-keys": {
    role: "owner",
    changes: true,
    summary:
      "Replace all data keys and delete all claims, after a leak of database and secret or the loss of the secret.",
    options: ["--yes"],
    run: replace,
  },
};

async function showStatus(context: CommandContext): Promise<void> {
  const { pool, print } = context;
  const { writer } = context.secrets();
  print(`The first secret in PENNYBLACK_SECRET is ${writer.id}.`);
  const processes = await readProcesses(pool);
  print(
    processes.length === 0
      ? "\nNo server or worker has reported within two minutes."
      : `\n${formatTable(processes.map(toRow), ["server or worker", "secrets"])}`,
  );
  const counts = await countDataKeys(pool);
  const rows = counts.map(({ secretId, keys }) => [secretId, String(keys)]);
  print(rows.length === 0 ? "\nThere are no data keys." : `\n${formatTable(rows, ["secret", "data keys"])}`);
}

async function reseal(context: CommandContext): Promise<void> {
  const { pool, print, act } = context;
  const secrets = context.secrets();
  await requireFirstSecret(context);
  const entry = { act: "secret.reseal", subject: secrets.writer.id };
  // Values are converted a page at a time, so that no row stays locked.
  await recordAct(pool, act, { ...entry, outcome: "started" });
  const results: [string, Resealed][] = [
    ["data keys", await resealDataKeys(pool, secrets)],
    ["webhook secrets", await resealWebhookSecrets(pool, secrets)],
    ["queued emails", await resealEmails(pool, secrets)],
  ];
  await recordAct(pool, act, { ...entry, after: Object.fromEntries(results) });
  const rows = results.map(([name, count]) => [name, ...[count.current, count.resealed, count.failed].map(String)]);
  print(formatTable(rows, ["values", `already under ${secrets.writer.id}`, "converted now", "not convertible"]));
  if (results.some(([, count]) => count.failed > 0))
    print("\nFor values that are not convertible, see docs/runbooks/rotate-secret.md.");
}

async function replace(context: CommandContext): Promise<void> {
  const { values, pool, print, act } = context;
  const secrets = context.secrets();
  await requireFirstSecret(context);
  if (values["yes"] !== true)
    throw new CommandFailed(
      "All claims are deleted, so for a day, retries can be charged again. End users get new hashes, so their limits start again, and you can no longer find earlier searches by their ids. Repeat the command with --yes.",
    );
  const entry = { act: "secret.replace_data_keys", subject: secrets.writer.id };
  await recordAct(pool, act, { ...entry, outcome: "started" });
  const replaced = await replaceDataKeys(pool, secrets);
  await recordAct(pool, act, { ...entry, after: { replaced } });
  print(`Replaced ${replaced} data keys.`);
}

/** A process without the first secret would reject every request that needs a data key. */
async function requireFirstSecret({ pool, secrets }: CommandContext): Promise<void> {
  const { writer } = secrets();
  const lacking = (await readProcesses(pool)).filter(({ secretIds }) => !secretIds.includes(writer.id));
  if (lacking.length === 0) return;
  throw new CommandFailed(
    [
      `Nothing was changed. These processes were seen within two minutes and do not list the secret ${writer.id}:`,
      "",
      formatTable(lacking.map(toRow), ["server or worker", "secrets"]),
      "",
      "Add it to their PENNYBLACK_SECRET and restart them. If they have crashed, wait two minutes.",
    ].join("\n"),
  );
}

interface ProcessSecrets {
  name: string;
  secretIds: string[];
}

async function readProcesses(db: Queryable): Promise<ProcessSecrets[]> {
  const { rows } = await db.query<ProcessSecrets>(
    `select kind || ' ' || process_id as name, secret_ids as "secretIds" from pb.process_reports
     where seen_at > clock_timestamp() - interval '2 minutes' order by kind, process_id`,
  );
  return rows;
}

function toRow({ name, secretIds }: ProcessSecrets): string[] {
  return [name, secretIds.join(", ")];
}
