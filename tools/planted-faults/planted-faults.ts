// Plants one fault at a time in a copy of the repository, runs the tests that should catch it, and reports the results.
// The same tests first run without a fault, because a test that always fails proves nothing.
//
//   npm run planted-faults                                                  all faults
//   npm run planted-faults -- --only hold-not-released,retry-after-missing  selected faults
//
// Uses PENNYBLACK_TEST_DATABASE_URL. Template databases with faulty migrations have their own name prefix, so that other
// test runs can use the same cluster.

import { execFileSync, spawn } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { plantedFaults } from "./faults.ts";
import type { PlantedFault } from "./planted-fault.ts";

/** Unique per run, and different from the prefix of regular test templates. */
const templatePrefix = `pb_faults_${process.pid}`;

if (import.meta.main) await main().finally(dropTemplates);

/** Runs as a script, because tools must not import server code. */
function dropTemplates(): void {
  execFileSync(process.execPath, ["server/test/support/services/drop-templates.ts", templatePrefix], {
    stdio: "inherit",
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: "string" } } });
  const selected = values.only?.split(",").map(getFault) ?? plantedFaults;
  const tree = copyTree();
  process.once("exit", () => rmSync(tree, { recursive: true, force: true }));
  process.once("SIGINT", () => process.exit(1));

  const tests = [...new Set(selected.flatMap((fault) => fault.tests))];
  const { hasPassed, failures, output } = await runTests(tree, tests);
  if (!hasPassed) {
    console.log(`These tests fail without a fault:\n${failures.join("\n") || output.slice(-2_000)}`);
    process.exitCode = 1;
    return;
  }
  let caught = 0;
  for (const fault of selected) {
    const undo = plant(tree, fault);
    const { failures } = await runTests(tree, fault.tests);
    undo();
    const caughtByTest = failures.find((failure) => failure.endsWith(`: ${fault.caughtBy}`));
    if (caughtByTest) caught += 1;
    const others = failures.length > 0 ? `, only by ${failures.join("; ")}` : "";
    console.log(`${fault.id}: ${fault.description} (${fault.file})\n    ${caughtByTest ?? `NOT CAUGHT${others}`}`);
  }
  console.log(`${caught} of ${selected.length} planted faults caught`);
  process.exitCode = caught === selected.length ? 0 : 1;
}

function getFault(id: string): PlantedFault {
  const fault = plantedFaults.find((each) => each.id === id);
  if (!fault) throw new Error(`There is no fault "${id}". tools/planted-faults lists them.`);
  return fault;
}

/** Why the fault can no longer be planted; undefined if it can. */
export function staleReason({ find, replace }: PlantedFault, text: string): string | undefined {
  const count = text.split(find).length - 1;
  if (count !== 1) return `occurs ${count} times instead of once: ${find}`;
  return find === replace ? "changes nothing" : undefined;
}

/** Changes the file and returns a function that restores it. */
function plant(tree: string, fault: PlantedFault): () => void {
  const path = join(tree, fault.file);
  const text = readFileSync(path, "utf8");
  const reason = staleReason(fault, text);
  if (reason) throw new Error(`${fault.file}: ${fault.id} ${reason}`);
  writeFileSync(
    path,
    text.replace(fault.find, () => fault.replace),
  );
  return () => writeFileSync(path, text);
}

/** Copies all files that are not ignored, and links node_modules. */
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
  return new Promise((done) => {
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
      done({ hasPassed: code === 0, failures, output });
    });
  });
}
