import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { type Postgres, startPostgres } from "../../server/src/dev/start-postgres.ts";
import { until } from "../../server/test/support/assertions/until.ts";
import { closeAfter } from "../../server/test/support/close-after.ts";
import { parseCodeBlocks } from "../../server/test/support/docs/read-code-blocks.ts";
import { killAfterTests } from "../../server/test/support/services/node-process.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";

// Follows the section "systemd" of docs/self-hosting.md with a new PostgreSQL that checks passwords. systemd is not started:
// the commands of the units run as an unprivileged user with the settings of their units.

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "pennyblack-install-"));
const [settings, units] = [join(folder, "etc"), join(folder, "units")];
mkdirSync(units);

let cluster: Postgres;
before(async () => {
  cluster = await startPostgres();
});
after(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true });
});

// Root switches to an account without files; other users are unprivileged already.
const dropPrivileges = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"];
const asUser = process.getuid?.() === 0 ? dropPrivileges : [];

/** The command of a unit, for this checkout and this Node, as an unprivileged user. */
function commandOf(unit: string): string[] {
  const [, script = ""] = /^ExecStart=\/usr\/bin\/node (.+)$/m.exec(readUnit(unit)) ?? [];
  return [...asUser, process.execPath, ...script.split(" ")];
}

/** The file with the settings of a unit, which systemd reads as root. */
function settingsFileOf(unit: string): string {
  const [, file = ""] = /^EnvironmentFile=\/etc\/pennyblack\/(\S+)$/m.exec(readUnit(unit)) ?? [];
  return join(settings, file);
}

function readUnit(unit: string): string {
  return readFileSync(join(import.meta.dirname, `pennyblack-${unit}.service`), "utf8");
}

/** Starts a unit and resolves to the URL of its internal listener when it is ready. */
async function startUnit(unit: string, changes: Record<string, string> = {}): Promise<string> {
  const opsPort = String(await choosePort({ host: "127.0.0.1" }));
  const lines = readFileSync(settingsFileOf(unit), "utf8").trimEnd().split("\n");
  const generated = Object.fromEntries(lines.map((line) => /^(\w+)=(.*)$/.exec(line)?.slice(1) ?? []));
  const env = { PATH: process.env["PATH"], ...generated, PENNYBLACK_OPS_PORT: opsPort, ...changes };
  const [program = "", ...args] = commandOf(unit);
  const child = killAfterTests(spawn(program, args, { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] }));
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  await until(`${unit} is ready`, async () => {
    assert.equal(child.exitCode, null, `${unit} exited`);
    return (await fetch(`${opsUrl}/readyz`).catch(() => undefined))?.status === 200;
  });
  return opsUrl;
}

/** Stand-ins for the commands that change the machine. Like systemd, "systemctl enable" runs the migrations first. */
function standIns(): string {
  const { hostname, port, username, password } = new URL(cluster.url);
  return `
    npm() { :; }
    useradd() { :; }
    node() { ${process.execPath} "$@"; }
    runuser() { PGPASSWORD=${password} psql --quiet --host=${hostname} --port=${port} --username=${username} postgres; }
    systemctl() {
      [ "$1" = enable ] || return 0
      env --ignore-environment PATH="$PATH" $(cat ${settingsFileOf("migrate")}) ${commandOf("migrate").join(" ")} >&2
    }
  `;
}

const page = readFileSync(join(root, "docs/self-hosting.md"), "utf8");
const steps = parseCodeBlocks(page).find(({ mark }) => mark?.text.includes("install.long.test.ts"))?.text ?? "";
let liveKey = "";

test("the documented steps create the settings, the roles, the tables and a wallet", () => {
  const here = steps
    .replaceAll("/etc/pennyblack", settings)
    .replaceAll("/etc/systemd/system/", units)
    .replaceAll("127.0.0.1:5432", new URL(cluster.url).host);
  const output = execFileSync("bash", ["-euo", "pipefail", "-c", standIns() + here], {
    cwd: root,
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  liveKey = /pb_live_\w+/.exec(output)?.[0] ?? "";
  assert.ok(liveKey, output);
  assert.deepEqual(readdirSync(settings), ["admin.env", "migrate.env", "server.env", "worker.env"]);
  assert.equal(readdirSync(units).length, 3);
});

test("server and worker run with these settings, answer their health checks and a paid search", async () => {
  const upstream = closeAfter(await startHostileUpstream());
  const port = String(await choosePort({ host: "127.0.0.1" }));
  const url = `http://127.0.0.1:${port}`;
  const opsUrls = [
    await startUnit("server", { HOST: "127.0.0.1", PORT: port, PENNYBLACK_SEARXNG_URL: upstream.url }),
    await startUnit("worker"),
  ];
  const checks = opsUrls.flatMap((opsUrl) => [`${opsUrl}/readyz`, `${opsUrl}/metrics`]);
  for (const check of checks) assert.equal((await fetch(check)).status, 200, check);

  const response = await fetch(`${url}/v1/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${liveKey}`, "content-type": "application/json" },
    body: JSON.stringify({ query: "postgresql advisory locks" }),
  });
  assert.deepEqual([response.status, response.headers.get("wallet-charge")], [200, "0.01;currency=usd"]);
});

test("the documented doctor command reads these settings and names the ones that are left to add", () => {
  const [, command = ""] = /```sh\n(node --env-file=[^`]+doctor)\n```/.exec(page) ?? [];
  const { stdout } = spawnSync("bash", ["-c", command.replaceAll("/etc/pennyblack", settings)], {
    cwd: root,
    env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  const errors = [...stdout.matchAll(/error: (.+?)(?: is |\.|,)/g)].map(([, text]) => text);
  // The last two are settings of this test's PostgreSQL.
  const expected = ["PENNYBLACK_TRUSTED_PROXIES", "No upstream", "fsync", "full_page_writes"];
  assert.deepEqual(errors, expected, stdout);
});
