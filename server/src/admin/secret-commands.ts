import { rehashTrialAddresses } from "../accounts/accounts.ts";
import { recordAct } from "../db/record-act.ts";
import { resealEmails } from "../email/email.ts";
import { formatTable } from "../lib/format-table.ts";
import { checkValueOf, createSecrets, type Resealed } from "../lib/secrets.ts";
import { countClaims, resealEndUserKeys } from "../wallet/wallet.ts";
import { resealWebhookSecrets } from "../webhooks/webhooks.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readOptionalCount } from "./read-values.ts";

// Rotation of PENNYBLACK_SECRET, step by step in docs/runbooks/rotate-secret.md.

export const secretCommands: Record<string, Command> = {
  status: {
    role: "operator",
    summary: "Show the writing version of PENNYBLACK_SECRET, the versions of each server and the claims per version.",
    run: showStatus,
  },
  use: {
    role: "owner",
    changes: true,
    summary: "Write under this version from now on. Fails while a server or worker does not list it.",
    required: ["--version <n>"],
    options: ["--discard-previous"],
    run: useVersion,
  },
  reseal: {
    role: "owner",
    changes: true,
    summary: "Encrypt stored values under the writing version, and report which ones still need another.",
    run: reseal,
  },
};

async function showStatus({ pool, print }: CommandContext): Promise<void> {
  const { rows } = await pool.query<{ version: number; at: Date; by: string | null }>(
    "select writing_version as version, changed_at as at, changed_by as by from pb.secret_state",
  );
  for (const { version, at, by } of rows) {
    print(`Writing version: ${version}${by === null ? "" : `, since ${at.toISOString()} by ${by}`}.`);
  }
  const { rows: processes } = await pool.query<{ process_id: string; versions: number[]; seen_at: Date }>(
    `select process_id, versions, seen_at from pb.secret_reports
     where not has_stopped and seen_at > clock_timestamp() - interval '2 minutes' order by process_id`,
  );
  const processRows = processes.map((row) => [
    row.process_id,
    row.versions.toSorted((a, b) => a - b).join(", "),
    row.seen_at.toISOString(),
  ]);
  print(
    processRows.length === 0
      ? "\nNo server or worker has reported within two minutes."
      : `\n${formatTable(processRows, ["server or worker", "versions", "last seen"])}`,
  );
  const claims = await countClaims(pool);
  if (claims.length === 0) return print("\nNo Idempotency-Key was used within 24 hours.");
  const claimRows = claims.map(({ version, claims: count, newest }) => [
    String(version),
    String(count),
    newest.toISOString(),
  ]);
  print(`\n${formatTable(claimRows, ["version", "claims within 24 hours", "newest"])}`);
}

const reasons: Record<string, string> = {
  not_listed: "does not list this version",
  different_secret: "has a different secret under this version",
};

async function useVersion({ values, pool, print, act, readSettings }: CommandContext): Promise<void> {
  const version = readOptionalCount(values, "version");
  if (version === undefined) throw new UsageError("--version is required.");
  // Not context.secrets: if the writing version is lost, another one can replace it.
  const secret = createSecrets(readSettings(["secrets"]).secrets).all.find((each) => each.version === version);
  if (!secret)
    throw new CommandFailed(`PENNYBLACK_SECRET does not list version ${version}. Add it, here and on servers.`);
  const { rows } = await pool.query<{ process_id: string; seen_at: Date; reason: string }>(
    "select * from pb.use_secret($1, $2, $3, $4, $5)",
    [act.operator, act.reason, version, checkValueOf(secret), values["discard-previous"] === true],
  );
  if (rows.length > 0) {
    const lines = rows.map((row) => [row.process_id, row.seen_at.toISOString(), reasons[row.reason] ?? row.reason]);
    throw new CommandFailed(
      [
        `Version ${version} is not in use. Retries on these processes, seen within two minutes, would be charged again:`,
        "",
        formatTable(lines, ["server or worker", "last seen", "reason"]),
        "",
        "Add the version to their PENNYBLACK_SECRET and restart them. If they have crashed, wait two minutes.",
      ].join("\n"),
    );
  }
  print(`Servers write under version ${version} within seconds. Next: npm run admin -- secret reseal`);
}

async function reseal({ pool, secrets: readSecrets, print, act }: CommandContext): Promise<void> {
  const secrets = await readSecrets();
  const { version } = secrets.writer;
  const entry = { act: "secret.reseal", subject: String(version) };
  // Each value is converted in a transaction of its own, so that no row stays locked.
  await recordAct(pool, act, { ...entry, outcome: "started" });
  const results: [string, Resealed][] = [
    ["webhook secrets", await resealWebhookSecrets(pool, secrets)],
    ["end-user keys", await resealEndUserKeys(pool, secrets)],
    ["queued emails", await resealEmails(pool, secrets)],
    ["trial addresses", await rehashTrialAddresses(pool, secrets)],
  ];
  await recordAct(pool, act, { ...entry, after: Object.fromEntries(results) });
  const rows = results.map(([name, count]) => [name, ...[count.current, count.resealed, count.failed].map(String)]);
  print(formatTable(rows, ["values", `already under version ${version}`, "converted now", "not convertible"]));
  const claims = (await countClaims(pool)).filter((row) => row.version !== version);
  for (const { version: old, claims: count, newest } of claims) {
    const end = new Date(newest.getTime() + 24 * 3_600_000).toISOString();
    print(`\nKeep version ${old} until ${end}: ${count} claims of searches use it.`);
  }
  const failed = results.filter(([, count]) => count.failed > 0);
  if (failed.length > 0) print("\nFor values that are not convertible, see docs/runbooks/rotate-secret.md.");
}
