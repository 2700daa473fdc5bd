// Runs the import rules in .dependency-cruiser.cjs. A file that dependency-cruiser skipped, or an import that it missed,
// also counts as a violation.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cruise, type ICruiseResult, type IModule } from "dependency-cruiser";
import extractOptions from "dependency-cruiser/config-utl/extract-depcruise-options";
import { sourceFolders } from "./source-folders.ts";

export async function checkImports(baseDir: string): Promise<{ violations: string[]; moduleCount: number }> {
  const files = sourceFiles(baseDir);
  const options = await extractOptions(join(import.meta.dirname, "..", ".dependency-cruiser.cjs"));
  // Pass files instead of folders, so that dependency-cruiser does not decide which files are source files.
  const { output } = await cruise(files, { ...options, baseDir, validate: true });
  if (typeof output === "string") throw new Error("dependency-cruiser returned text instead of a result");

  const modules = new Map(output.modules.map((module) => [module.source, module]));
  const violations = [
    ...(files.length === 0 ? ["no source files found"] : []),
    ...files.flatMap((file) => missedImports({ baseDir, file, module: modules.get(file) })),
    ...ruleViolations(output),
  ];
  return { violations, moduleCount: files.filter((file) => modules.has(file)).length };
}

function sourceFiles(baseDir: string): string[] {
  const patterns = sourceFolders
    .filter((folder) => existsSync(join(baseDir, folder)))
    .map((folder) => `${folder}/**/*.{ts,tsx}`);
  return globSync(patterns, { cwd: baseDir, exclude: ["**/node_modules", "**/dist", "**/fixtures"] })
    .filter((file) => !file.endsWith(".d.ts"))
    .toSorted();
}

function missedImports(input: { baseDir: string; file: string; module: IModule | undefined }): string[] {
  const { baseDir, file, module } = input;
  if (module === undefined) return [`${file}: not analyzed`];
  const text = readFileSync(join(baseDir, file), "utf8");
  const declared = [...text.matchAll(/^(?:import|export|\}).*?\bfrom "([^"]+)";$/gm)].map((match) => match[1]);
  // dependency-cruiser reports built-in modules without "node:".
  const analyzed = new Set(module.dependencies.map((dependency) => dependency.module.replace(/^node:/, "")));
  return declared
    .filter((specifier) => specifier !== undefined && !analyzed.has(specifier.replace(/^node:/, "")))
    .map((specifier) => `${file}: dependency-cruiser missed the import of "${specifier}"`);
}

function ruleViolations(result: ICruiseResult): string[] {
  const comments = new Map(result.summary.ruleSetUsed?.forbidden?.map((rule) => [rule.name, rule.comment]));
  return result.summary.violations.map(({ rule, from, to, cycle }) => {
    const path = cycle === undefined ? to : cycle.map((step) => step.name).join(" -> ");
    return `${rule.name}: ${from} -> ${path}\n    ${comments.get(rule.name) ?? ""}`;
  });
}

if (import.meta.main) {
  const { violations, moduleCount } = await checkImports(process.cwd());
  for (const violation of violations) console.error(violation);
  console.log(`${moduleCount} modules, ${violations.length} import rule violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
