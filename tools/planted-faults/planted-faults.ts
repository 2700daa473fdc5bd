// Plants one fault after the other in a copy of the tree, runs the tests that should see it, and tells which did. The
// same tests run first without a fault: a test that fails anyhow catches nothing.
//
//   npm run planted-faults                   all of them
//   npm run planted-faults -- --only 1,14    some
//
// The tests run on PENNYBLACK_TEST_DATABASE_URL like all others. Faulty migrations make templates of their own there, under
// a name of their own, so that others can test on that cluster meanwhile.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type PlantedFault, plantedFaults } from "./faults.ts";

/** No other run has it, and it begins like no template of the tests. */
const templatePrefix = `pb_faults_${process.pid}`;

if (import.meta.main) await main().finally(dropTemplates);

/** By a script of the tests: a guard imports nothing of what it guards. */
function dropTemplates(): void {
  execFileSync(process.execPath, ["server/test/drop-templates.ts", templatePrefix], { stdio: "inherit" });
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: "string" } } });
  const numbers = values.only?.split(",").map(Number) ?? plantedFaults.map((_, index) => index + 1);
  const chosen = numbers.map((number) => ({ number, fault: faultNumbered(number) }));
  const tree = copyTree();
  process.once("exit", () => rmSync(tree, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(1));

  const failing = await findFailing(tree, [...new Set(chosen.flatMap(({ fault }) => fault.tests))]);
  if (failing.length > 0) {
    console.log(`Without a fault these fail already, so they prove nothing:\n${failing.join("\n")}`);
    process.exitCode = 1;
    return;
  }
  let caught = 0;
  for (const { number, fault } of chosen) {
    const undo = plant(tree, fault);
    const { failures } = await runTests(tree, fault.tests);
    undo();
    const catcher = failures.find((failure) => failure.endsWith(`: ${fault.caughtBy}`));
    if (catcher) caught += 1;
    const others = failures.length > 0 ? `, only by ${failures.join("; ")}` : "";
    console.log(
      `${String(number).padStart(2)}. ${fault.what} (${fault.file})\n    ${catcher ?? `NOT CAUGHT${others}`}`,
    );
  }
  console.log(`${caught} of ${chosen.length} planted faults caught`);
  process.exitCode = caught === chosen.length ? 0 : 1;
}

/** The tests that fail without a fault. Those that fail once, on a machine that has no time for them, get a second try. */
async function findFailing(tree: string, tests: readonly string[]): Promise<string[]> {
  const first = await runTests(tree, tests);
  if (first.hasPassed) return [];
  const files = [...new Set(first.failures.map((failure) => failure.split(": ", 1)[0] ?? ""))];
  const second = await runTests(tree, files);
  return second.hasPassed && files.length > 0 ? [] : [...second.failures, second.output.slice(-2_000)];
}

function faultNumbered(number: number): PlantedFault {
  const fault = plantedFaults[number - 1];
  if (!fault) throw new Error(`There is no fault ${number}; there are ${plantedFaults.length}.`);
  return fault;
}

/** Why the fault cannot be planted any more, or nothing if it can. */
export function whyStale({ find, replace }: PlantedFault, text: string): string | undefined {
  const times = text.split(find).length - 1;
  if (times !== 1) return `stands there ${times} times, not once: ${find}`;
  return find === replace ? "changes nothing" : undefined;
}

/** Changes the file, and gives what changes it back. */
function plant(tree: string, fault: PlantedFault): () => void {
  const path = join(tree, fault.file);
  const text = readFileSync(path, "utf8");
  const stale = whyStale(fault, text);
  if (stale) throw new Error(`${fault.file}: "${fault.what}" ${stale}`);
  writeFileSync(
    path,
    text.replace(fault.find, () => fault.replace),
  );
  return () => writeFileSync(path, text);
}

/** What git knows, or would; packages are shared. */
function copyTree(): string {
  const tree = mkdtempSync(join(tmpdir(), "pennyblack-faults-"));
  const list = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", list, { encoding: "utf8", maxBuffer: 1 << 26 });
  for (const file of files.split("\0").filter(Boolean)) {
    cpSync(file, join(tree, file), { recursive: true, force: true, errorOnExist: false });
  }
  for (const packages of globSync("{.,*}/node_modules")) symlinkSync(resolve(packages), join(tree, packages));
  return tree;
}

function runTests(
  tree: string,
  tests: readonly string[],
): Promise<{ hasPassed: boolean; failures: string[]; output: string }> {
  return new Promise((settle) => {
    const child = spawn(process.execPath, ["tools/test-report.ts", ...tests], {
      cwd: tree,
      env: { ...process.env, PENNYBLACK_TEST_TEMPLATE_PREFIX: templatePrefix },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("close", (code) => {
      const failures = [...output.matchAll(/^FAILED (\S+?):\d+: (.*)$/gm)].map(([, file, name]) => `${file}: ${name}`);
      settle({ hasPassed: code === 0, failures, output });
    });
  });
}
