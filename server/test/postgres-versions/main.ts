// Runs the tests of the wallet, the plans of its statements, the ledger model and the stories on versions of PostgreSQL from npm.
//
//   npm run test:postgres                         on every supported version
//   npm run test:postgres -- 15 18                on these versions
//   npm run test:postgres -- --only wallet/plans  only files whose path contains this; can be repeated

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { startPrivatePostgres } from "../support/services/private-postgres.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: {
      type: "string",
      multiple: true,
      default: ["server/src/wallet/", "server/test/ledger-model/", "server/test/stories/"],
    },
  },
});
// The data is temporary, so durability is off, as in .ci/run.
const settings = ["fsync=off", "full_page_writes=off", "max_wal_size=4GB"];
const root = join(import.meta.dirname, "../../..");
const tools = join(root, "tools/on-demand");

const { devDependencies } = JSON.parse(readFileSync(join(tools, "postgres/package.json"), "utf8")) as {
  devDependencies: Record<string, string>;
};
const known = Object.keys(devDependencies).map((name) => name.replace("postgres-", ""));
const versions = positionals.length > 0 ? positionals : known;
const unknown = versions.filter((version) => !known.includes(version));
if (unknown.length > 0) throw new Error(`Unknown version ${unknown.join(", ")}. Known: ${known.join(", ")}.`);

const installed = execFileSync(process.execPath, [join(tools, "install-on-demand.ts"), "postgres"], {
  encoding: "utf8",
});
const summary: string[] = [];
for (const version of versions) {
  const startedMs = performance.now();
  const { isOk, count } = await runTests(join(installed.trim(), "node_modules", `postgres-${version}`, "native"));
  const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
  summary.push(`PostgreSQL ${devDependencies[`postgres-${version}`]?.split("@").at(-1)}: ${count}, ${minutes} min`);
  if (!isOk) process.exitCode = 1;
}
console.log(summary.join("\n"));

async function runTests(packaged: string): Promise<{ isOk: boolean; count: string }> {
  const postgres = await startPrivatePostgres({ packaged, settings });
  try {
    const child = spawn(process.execPath, ["tools/test-report.ts", ...values.only], {
      cwd: root,
      env: { ...process.env, PENNYBLACK_TEST_DATABASE_URL: postgres.superuserUrl },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
    const isOk = child.exitCode === 0;
    if (!isOk) console.log(output);
    return { isOk, count: output.trimEnd().split("\n").at(-1) ?? "" };
  } finally {
    await postgres.close();
  }
}
