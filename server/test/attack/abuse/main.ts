import { execFile, spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { type AbuseFixture, openAbuseFixture } from "./abuse-fixture.ts";
import { type Attack, attacks } from "./attacks.ts";

// How a polite caller fares while others misbehave:  npm run abuse -- --connections 300 --seconds 10
// Our own sockets, then slowhttptest where it is installed or can be (Debian's package, as root).

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
  const show = async (name: string, attack: Attack | undefined): Promise<void> => {
    const { searches, refused, p50Ms, p99Ms } = await fixture.measure(attack, connections, forMs);
    if (refused.length > 0) failed += 1;
    const line = [name.padEnd(36), searches, `${refused.length} refused`, `p50 ${p50Ms} ms`, `p99 ${p99Ms} ms`];
    console.log(line.join("  "), refused[0] ?? "");
  };
  await show("nobody else (to warm up)", undefined);
  await show("nobody else", undefined);
  for (const [name, attack] of Object.entries(attacks)) await show(name, attack);
  if (hasSlowhttptest()) {
    for (const [name, options] of Object.entries(slowModes(fixture.url))) await show(name, slowhttptest(options));
  } else console.log("slowhttptest is not installed and cannot be: skipped");
  await show("nobody else", undefined);
  console.log(`${connections} connections, ${values.seconds} s each, ${failed} attacks with a refused search`);
  process.exitCode = failed === 0 ? 0 : 1;
}

function hasSlowhttptest(): boolean {
  const isThere = (): boolean => spawnSync("slowhttptest", ["-h"], { stdio: "ignore" }).error === undefined;
  if (isThere()) return true;
  spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "slowhttptest"], { stdio: "ignore" });
  return isThere();
}

/** https://github.com/shekyan/slowhttptest: each of its four ways. */
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
