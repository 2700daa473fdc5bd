// `npm run test:postgres -- 15 18`: runs the tests of the wallet, the plans of its statements, the ledger model and the stories
// on these versions of PostgreSQL from npm. Without arguments: on every version that is supported.

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choosePort } from "../../src/dev/choose-port.ts";
import { findAccount, findPrograms } from "../../src/dev/postgres-programs.ts";

const tests = ["server/src/wallet/", "server/test/ledger-model/", "server/test/stories/"];
const root = join(import.meta.dirname, "../../..");
const group = join(root, "tools/on-demand");

const { devDependencies } = JSON.parse(readFileSync(join(group, "postgres/package.json"), "utf8")) as {
  devDependencies: Record<string, string>;
};
const known = Object.keys(devDependencies).map((name) => name.replace("postgres-", ""));
const versions = process.argv.length > 2 ? process.argv.slice(2) : known;
const unknown = versions.filter((version) => !known.includes(version));
if (unknown.length > 0) throw new Error(`Unknown version ${unknown.join(", ")}. Known: ${known.join(", ")}.`);

const packages = execFileSync(process.execPath, [join(group, "install-on-demand.ts"), "postgres"], {
  encoding: "utf8",
});
const summary: string[] = [];
for (const version of versions) {
  const startedMs = performance.now();
  const { status, result } = await runTests(
    version,
    join(packages.trim(), "node_modules", `postgres-${version}`, "native"),
  );
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  summary.push(`PostgreSQL ${version} (${result.version}): ${result.tests} in ${seconds} s`);
  if (status !== 0) process.exitCode = 1;
}
console.log(summary.join("\n"));

async function runTests(
  version: string,
  packaged: string,
): Promise<{ status: number; result: { version: string; tests: string } }> {
  const folder = mkdtempSync(join(tmpdir(), `pennyblack-postgres-${version}-`));
  const account = findAccount();
  chmodSync(folder, 0o755);
  if (account) chownSync(folder, account.uid, account.gid);
  const programs = findPrograms(folder, account, packaged);
  const data = join(folder, "data");
  const port = await choosePort({ host: "127.0.0.1" });
  const control = (...args: string[]): string =>
    execFileSync(join(programs, "bin/pg_ctl"), [`--pgdata=${data}`, "--silent", "--wait", ...args], {
      ...account,
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "inherit"],
    });
  control("--options=--username=postgres --auth=trust --encoding=UTF8 --no-locale --no-sync", "initdb");
  // The data is temporary, so durability is off, as in .ci/run.
  const settings = "-c fsync=off -c full_page_writes=off -c max_wal_size=4GB -c max_connections=300";
  control(
    `--log=${join(folder, "log")}`,
    `--options=-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} ${settings}`,
    "start",
  );
  try {
    const { status, stdout } = spawnSync(process.execPath, ["tools/test-report.ts", ...tests], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 1 << 28,
      env: { ...process.env, PENNYBLACK_TEST_DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/postgres` },
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) console.log(stdout);
    const installed = execFileSync(join(programs, "bin/postgres"), ["--version"], { encoding: "utf8" });
    return {
      status: status ?? 1,
      result: { version: installed.trim().replace(/^.* /, ""), tests: stdout.trimEnd().split("\n").at(-1) ?? "" },
    };
  } finally {
    control("--mode=immediate", "stop");
    rmSync(folder, { recursive: true, force: true });
  }
}
