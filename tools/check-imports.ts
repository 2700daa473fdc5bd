// Runs the import rules in .dependency-cruiser.cjs. A file that dependency-cruiser skipped, an import that it missed, a name in
// the rules that does not exist, and a folder of server/src that no rule names also count as violations.

import { existsSync, globSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { cruise, type ICruiseResult, type IModule } from "dependency-cruiser";
import extractOptions from "dependency-cruiser/config-utl/extract-depcruise-options";
import { sourceFolders } from "./source-folders.ts";

const readOptions = () => extractOptions(join(import.meta.dirname, "..", ".dependency-cruiser.cjs"));

export async function checkImports(baseDir: string): Promise<{ violations: string[]; moduleCount: number }> {
  const files = sourceFiles(baseDir);
  const options = await readOptions();
  // Pass files instead of folders, so that dependency-cruiser does not decide which files are source files.
  const { output } = await cruise(files, { ...options, baseDir, validate: true });
  if (typeof output === "string") throw new Error("dependency-cruiser returned text instead of a result");

  const modules = new Map(output.modules.map((module) => [module.source, module]));
  const violations = [
    ...(files.length === 0 ? ["no source files found"] : []),
    ...files.flatMap((file) => missedImports({ baseDir, file, module: modules.get(file) })),
    ...ruleViolations(output),
    ...mutualImports(output.modules),
  ];
  return { violations, moduleCount: files.filter((file) => modules.has(file)).length };
}

/** The regular expressions for paths in the rules with these names. */
export async function readPatterns(names: RegExp): Promise<string[]> {
  const rules = ((await readOptions()).ruleSet?.forbidden ?? []).filter(({ name = "" }) => names.test(name));
  return rules.flatMap((rule) =>
    "to" in rule ? [rule.from, rule.to].flatMap(({ path = [], pathNot = [] }) => [path, pathNot].flat()) : [],
  );
}

/** Compares the names in the patterns with the files, the packages and the modules of Node. */
export function checkNames(input: { patterns: string[]; files: string[]; packages: string[] }): string[] {
  const patterns = [...new Set(input.patterns.flatMap(expandPattern))];
  const known = [
    ...input.files,
    ...input.packages.flatMap((name) => [name, `${name}/`, `node_modules/${name}/`, `/node_modules/${name}/`]),
    ...builtinModules.map((name) => `node:${name}`),
  ];
  const folders = new Set(input.files.flatMap((file) => /^server\/src\/[^/]+\//.exec(file)?.[0] ?? []));
  return [
    ...patterns
      // $1 stands for the match of the other half of the rule.
      .filter((pattern) => !pattern.includes("$1") && !known.some((name) => new RegExp(pattern).test(name)))
      .map((pattern) => `.dependency-cruiser.cjs: nothing matches ${pattern}`),
    ...[...folders]
      .filter((folder) => !patterns.includes(`^${folder}`))
      .map((folder) => `.dependency-cruiser.cjs: no rule names ${folder}`),
  ];
}

/** "^a/(?:b|c)/" becomes "^a/b/" and "^a/c/". What a look-ahead excludes must exist too: "a/(?!b)" becomes "a/" and "a/b". */
export function expandPattern(pattern: string): string[] {
  const group = /\((?:\?:|(\?!))?([^()]*)\)/.exec(pattern);
  if (!group) return pattern.split("|");
  const [text, isLookAhead, choices = ""] = group;
  const options = [...(isLookAhead ? [""] : []), ...choices.split("|")];
  return options.flatMap((option) => expandPattern(pattern.replace(text, () => option)));
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

/** Imports of each other by two modules. A cycle of files need not exist: the modules could still only be changed together. */
function mutualImports(files: readonly IModule[]): string[] {
  const examples = new Map<string, string>();
  for (const { source, dependencies } of files) {
    if (isTest(source)) continue;
    for (const { resolved } of dependencies)
      examples.set(`${moduleOf(source)} -> ${moduleOf(resolved)}`, `${source} -> ${resolved}`);
  }
  return [...examples].flatMap(([pair, example]) => {
    const [from = "", to = ""] = pair.split(" -> ");
    const back = from < to ? examples.get(`${to} -> ${from}`) : undefined;
    return back === undefined ? [] : [`mutual-imports: ${from} and ${to}\n    ${example}\n    ${back}`];
  });
}

/** A folder of the server or of the tools, or another part of the product. app.ts and app/ are one module. */
function moduleOf(file: string): string {
  return /^(?:server\/src|tools)\/[^/.]+/.exec(file)?.[0] ?? file.replace(/\/.*/, "");
}

function isTest(file: string): boolean {
  return /\.test\.tsx?$|^server\/test\//.test(file);
}

if (import.meta.main) {
  const { violations, moduleCount } = await checkImports(process.cwd());
  const packages = globSync(["*", "@*/*"], { cwd: "node_modules" });
  violations.push(...checkNames({ patterns: await readPatterns(/./), files: sourceFiles("."), packages }));
  for (const violation of violations) console.error(violation);
  console.log(`${moduleCount} modules, ${violations.length} import rule violations`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
