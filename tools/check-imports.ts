// Runs the import rules of .dependency-cruiser.cjs, and distrusts a clean result: a cruise that skipped a file, or
// missed an import that stands in the text, fails as loudly as a broken rule.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cruise, type ICruiseResult, type IModule } from "dependency-cruiser";
import extractOptions from "dependency-cruiser/config-utl/extract-depcruise-options";

const rooms = ["server", "sdk", "cli", "mcp", "console", "tools", "bench", "eval", "examples", "deploy"];

export async function checkImports(baseDir: string): Promise<{ faults: string[]; moduleCount: number }> {
  const files = sourceFiles(baseDir);
  const options = await extractOptions(join(import.meta.dirname, "..", ".dependency-cruiser.cjs"));
  // The list of files is handed over, not the folders: folders would let the tool decide what a source file is.
  const { output } = await cruise(files, { ...options, baseDir, validate: true });
  if (typeof output === "string") throw new Error("dependency-cruiser answered text instead of a result");

  const modules = new Map(output.modules.map((module) => [module.source, module]));
  const faults = [
    ...(files.length === 0 ? ["no source files were found"] : []),
    ...files.flatMap((file) => unseenImports({ baseDir, file, module: modules.get(file) })),
    ...brokenRules(output),
  ];
  return { faults, moduleCount: files.filter((file) => modules.has(file)).length };
}

function sourceFiles(baseDir: string): string[] {
  const patterns = rooms.filter((room) => existsSync(join(baseDir, room))).map((room) => `${room}/**/*.{ts,tsx}`);
  return globSync(patterns, { cwd: baseDir, exclude: ["**/node_modules", "**/dist", "**/fixtures"] })
    .filter((file) => !file.endsWith(".d.ts"))
    .toSorted();
}

function unseenImports(input: { baseDir: string; file: string; module: IModule | undefined }): string[] {
  const { baseDir, file, module } = input;
  if (module === undefined) return [`${file}: was not cruised`];
  const text = readFileSync(join(baseDir, file), "utf8");
  const written = [...text.matchAll(/^(?:import|export|\}).*?\bfrom "([^"]+)";$/gm)].map((match) => match[1]);
  // Node's own modules are reported without their "node:".
  const seen = new Set(module.dependencies.map((dependency) => dependency.module.replace(/^node:/, "")));
  return written
    .filter((specifier) => specifier !== undefined && !seen.has(specifier.replace(/^node:/, "")))
    .map((specifier) => `${file}: the cruise did not see its import of "${specifier}"`);
}

function brokenRules(result: ICruiseResult): string[] {
  const comments = new Map(result.summary.ruleSetUsed?.forbidden?.map((rule) => [rule.name, rule.comment]));
  return result.summary.violations.map(({ rule, from, to, cycle }) => {
    const path = cycle === undefined ? to : cycle.map((step) => step.name).join(" -> ");
    return `${rule.name}: ${from} -> ${path}\n    ${comments.get(rule.name) ?? ""}`;
  });
}

if (import.meta.main) {
  const { faults, moduleCount } = await checkImports(process.cwd());
  for (const fault of faults) console.error(fault);
  console.log(`${moduleCount} modules, ${faults.length} broken import rules`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
