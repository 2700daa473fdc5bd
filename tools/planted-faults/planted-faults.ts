// Plants one fault at a time in a copy of the repository, runs the test that should catch it, and reports the result.
// The same test first runs without the fault, because a test that always fails proves nothing; with --tenth it does not,
// because `npm run check` has just run all tests.
//
//   npm run planted-faults                                                  all faults
//   npm run planted-faults -- --only hold-not-released,retry-after-missing  selected faults
//   npm run planted-faults -- --tenth                                       about a tenth, as npm run check does
//
// Uses PENNYBLACK_TEST_DATABASE_URL. Template databases with faulty migrations have their own name prefix, so that other
// test runs can use the same cluster.

import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
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
  const { values } = parseArgs({ options: { only: { type: "string" }, tenth: { type: "boolean", default: false } } });
  const selected = (values.only?.split(",").map(getFault) ?? plantedFaults).filter(
    (fault) => !values.tenth || isInTenth(fault, readFileSync(fault.file, "utf8")),
  );
  process.once("SIGINT", () => process.exit(1));

  let caught = 0;
  const passing = new Set<string>(values.tenth ? selected.map(keyOf) : []);
  const queue = [...selected];
  // As many at a time as test files, because they wait for most of their time.
  await Promise.all(
    Array.from({ length: availableParallelism() + 1 }, async (_, index) => {
      const copy = { tree: copyTree(), templates: `${templatePrefix}_${index}` };
      process.once("exit", () => rmSync(copy.tree, { recursive: true, force: true }));
      for (let fault = queue.shift(); fault; fault = queue.shift()) {
        const result = await tryFault(copy, fault, passing);
        if (result === "caught") caught += 1;
        console.log(`${result}: ${fault.id} in ${fault.file}, ${fault.description}\n    ${fault.caughtBy}`);
      }
    }),
  );
  console.log(`${caught} of ${selected.length} planted faults caught`);
  process.exitCode = caught === selected.length ? 0 : 1;
}

/**
 * Every fault has its turn: a change of a file selects others among the faults of that file, and the same commit always the
 * same ones.
 */
export function isInTenth({ id }: PlantedFault, text: string): boolean {
  return createHash("sha256").update(id).update(text).digest().readUInt32BE() % 10 === 0;
}

/** A copy of the repository, in which one fault at a time is planted. */
interface Copy {
  tree: string;
  templates: string;
}

function keyOf({ tests, caughtBy }: PlantedFault): string {
  return JSON.stringify([tests, caughtBy]);
}

/** `passing` has the tests that passed without a fault. */
async function tryFault(copy: Copy, fault: PlantedFault, passing: Set<string>): Promise<string> {
  if (!passing.has(keyOf(fault))) {
    const outcome = await runTest(copy, fault);
    if (outcome !== "passed") return `${outcome} WITHOUT THE FAULT`;
    passing.add(keyOf(fault));
  }
  const undo = plant(copy.tree, fault);
  const outcome = await runTest(copy, fault);
  undo();
  return outcome === "failed" ? "caught" : `NOT CAUGHT, test ${outcome}`;
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

function runTest(
  { tree, templates }: Copy,
  { tests, caughtBy }: PlantedFault,
): Promise<"passed" | "failed" | "did not run"> {
  return new Promise((done) => {
    const child = spawn(process.execPath, ["tools/test-report.ts", ...tests, "--name", caughtBy], {
      cwd: tree,
      env: { ...process.env, PENNYBLACK_TEST_TEMPLATE_PREFIX: templates },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("close", (code) => {
      const failures = [...output.matchAll(/^FAILED \S+?:\d+: (.*)$/gm)].map(([, name = ""]) => name);
      const hasFailed = failures.some((name) => name === caughtBy || name.endsWith(`: ${caughtBy}`));
      if (code === 0) done("passed");
      else done(hasFailed ? "failed" : "did not run");
    });
  });
}
