import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { roles } from "../../../src/db/roles.ts";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { findAccount } from "../../../src/dev/postgres-programs.ts";
import { until } from "../assertions/until.ts";
import { superuserUrl } from "./database.ts";
import { killAfterTests } from "./node-process.ts";

// PgBouncer as deploy/pgbouncer/pgbouncer.ini configures it, in front of the shared cluster. With PENNYBLACK_TEST_PGBOUNCER=1
// all test servers connect through one:
//
//   npm run test:pgbouncer

const shippedFile = new URL("../../../../deploy/pgbouncer/pgbouncer.ini", import.meta.url);
const password = "password-of-pgbouncer";
/** Small, so that transactions of one client use different connections. */
const poolSize = 4;

/** The URL settings of a server. */
const urlVariables = [
  "DATABASE_URL",
  "PENNYBLACK_TENANT_DATABASE_URL",
  "PENNYBLACK_PAYMENTS_DATABASE_URL",
  "PENNYBLACK_OPERATOR_DATABASE_URL",
  "PENNYBLACK_PEOPLE_DATABASE_URL",
];

export interface PgBouncer {
  /** The same URL through PgBouncer. URLs of other hosts, such as a proxy's, are unchanged. */
  through(url: string): string;
  /** Settings of a server behind PgBouncer, given those of a server without. */
  settingsOf(settings: Record<string, string>): Record<string, string>;
}

/** Runs until the test file ends. */
export async function startPgBouncer(): Promise<PgBouncer> {
  const cluster = new URL(superuserUrl);
  const port = await choosePort({ host: "127.0.0.1" });
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-pgbouncer-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const users = ["postgres", ...Object.values(roles)].map((role) => `"${role}" "${password}"\n`);
  writeFileSync(join(folder, "userlist.txt"), users.join(""));
  const file = join(folder, "pgbouncer.ini");
  const changes = [
    [/^pennyblack = .*$/m, `* = host=${cluster.hostname} port=${cluster.port || 5432}`],
    [/^listen_port = .*$/m, `listen_port = ${port}`],
    [/^auth_file = .*$/m, `auth_file = ${join(folder, "userlist.txt")}`],
    [/^default_pool_size = .*$/m, `default_pool_size = ${poolSize}`],
  ] as const;
  writeFileSync(file, changes.reduce(replaceLine, readFileSync(shippedFile, "utf8")));
  chmodSync(folder, 0o755);
  const child = killAfterTests(spawn("pgbouncer", ["--quiet", file], { ...findAccount(), cwd: "/", stdio: "ignore" }));
  let failure: Error | undefined;
  child.once("error", (error) => (failure = error));

  function through(url: string): string {
    const changed = new URL(url);
    if (changed.host !== cluster.host) return url;
    changed.port = String(port);
    changed.password = password;
    return changed.href;
  }

  await until("PgBouncer accepts connections", async () => {
    if (failure) throw failure;
    if (child.exitCode !== null) throw new Error(`PgBouncer exited with ${child.exitCode}`);
    return canLogIn(through(superuserUrl));
  });
  return {
    through,
    settingsOf: (settings) => ({
      PENNYBLACK_DATABASE_POOLER: "transaction",
      ...settings,
      ...Object.fromEntries(
        urlVariables.flatMap((name) => (settings[name] === undefined ? [] : [[name, through(settings[name])]])),
      ),
    }),
  };
}

let shared: Promise<PgBouncer> | undefined;

/** The given settings, or those behind PgBouncer if the tests run behind it. */
export async function withPgBouncer(settings: Record<string, string>): Promise<Record<string, string>> {
  if (process.env["PENNYBLACK_TEST_PGBOUNCER"] === undefined) return settings;
  shared ??= startPgBouncer();
  return (await shared).settingsOf(settings);
}

function replaceLine(text: string, [line, replacement]: readonly [RegExp, string]): string {
  if (!line.test(text)) throw new Error(`deploy/pgbouncer/pgbouncer.ini has no line ${line}`);
  return text.replace(line, replacement);
}

async function canLogIn(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    client.end().catch(() => undefined);
  }
}
