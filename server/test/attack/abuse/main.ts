import { execFile, spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { type AbuseFixture, openAbuseFixture } from "./abuse-fixture.ts";
import { type Attack, attacks } from "./attacks.ts";

// Measures a paying caller during attacks:  npm run abuse -- --connections 300 --seconds 10
// Uses raw sockets, then slowhttptest if it is installed or root can install the Debian package.

const { values } = parseArgs({
  options: { connections: { type: "string", default: "300" }, seconds: { type: "string", default: "10" } },
});
const connections = Number(values.connections);
const forMs = Number(values.seconds) * 1_000;

const fixture = await openAbuseFixture();
try {
  await measureAll(fixture);
} finally {
  await fixture.close();
}

async function measureAll(fixture: AbuseFixture): Promise<void> {
  let failed = 0;
  const measure = async (name: string, attack: Attack | undefined): Promise<void> => {
    const { searches, failures, p50Ms, p99Ms } = await fixture.measure(attack, connections, forMs);
    if (failures.length > 0) failed += 1;
    const line = [name.padEnd(36), searches, `${failures.length} failed`, `p50 ${p50Ms} ms`, `p99 ${p99Ms} ms`];
    console.log(line.join("  "), failures[0] ?? "");
  };
  await measure("no attack (warm-up)", undefined);
  await measure("no attack", undefined);
  for (const [name, attack] of Object.entries(attacks)) await measure(name, attack);
  if (hasSlowhttptest()) {
    for (const [name, options] of Object.entries(slowModes(fixture.url))) await measure(name, slowhttptest(options));
  } else console.log("skipped: slowhttptest is not installed");
  await measure("no attack", undefined);
  console.log(`${connections} connections, ${values.seconds} s each, ${failed} attacks with failed searches`);
  process.exitCode = failed === 0 ? 0 : 1;
}

function hasSlowhttptest(): boolean {
  const isInstalled = (): boolean => spawnSync("slowhttptest", ["-h"], { stdio: "ignore" }).error === undefined;
  if (isInstalled()) return true;
  spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "slowhttptest"], { stdio: "ignore" });
  return isInstalled();
}

/** The four modes of https://github.com/shekyan/slowhttptest. */
function slowModes(url: string): Record<string, string[]> {
  const common = ["-c", String(connections), "-r", String(connections), "-l", String(Math.ceil(forMs / 1_000))];
  return {
    "slowhttptest, slow headers": [...common, "-H", "-i", "1", "-u", `${url}/v1/key`],
    "slowhttptest, slow bodies": [...common, "-B", "-i", "1", "-s", "16000", "-t", "POST", "-u", `${url}/v1/search`],
    "slowhttptest, ranges": [...common, "-R", "-a", "10", "-b", "3000", "-u", `${url}/openapi.json`],
    "slowhttptest, slow reading": [...common, "-X", "-w", "10", "-y", "20", "-n", "1", "-z", "32", "-k", "3"].concat(
      "-u",
      `${url}/openapi.json`,
    ),
  };
}

function slowhttptest(options: readonly string[]): Attack {
  return (_target, signal) => void execFile("slowhttptest", options, { signal }, () => undefined);
}
