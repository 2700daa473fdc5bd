import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { compileCache } from "../services/compile-cache.ts";
import type { CodeBlock } from "./read-code-blocks.ts";
import { openScripts, type ScriptLanguage, type ScriptResult, type Scripts } from "./run-scripts.ts";

export interface Bench {
  /** Contains the installed `@pennyblack/sdk` and the settings of curl. */
  folder: string;
  /** Runs samples in that folder. */
  scripts: Scripts;
  /** Environment of a caller: base URL and keys. */
  caller: Record<string, string>;
  /** Environment of an operator. */
  operator: Record<string, string>;
}

const root = resolve(import.meta.dirname, "../../../..");

/** Returns the way in which a block differs from its page, or undefined. */
export async function faultOf(block: CodeBlock, bench: Bench): Promise<string | undefined> {
  const { language, text, mark } = block;
  if (mark?.kind === "not run" || language === "text") return undefined;
  // A test of that file runs it.
  if (mark?.kind === "part of") {
    return readFileSync(join(root, mark.text), "utf8").includes(text) ? undefined : `differs from ${mark.text}`;
  }
  if (language === "json") return faultOfJson(block, bench);

  if (language !== "sh" && !isScript(language)) return `cannot run code in "${language}"`;
  const { code, printed } = await run(language, text, bench);
  if ((code !== 0) !== (mark?.kind === "fails")) return `ended with ${code}:\n${printed}`;
  if (mark !== undefined && !printed.includes(mark.text)) return `did not print ${mark.text}, but:\n${printed}`;
  return undefined;
}

/** The response of a search is compared with what the sample above it prints; other JSON has to be valid. */
async function faultOfJson({ text, mark, printedBy }: CodeBlock, bench: Bench): Promise<string | undefined> {
  try {
    const documented: unknown = JSON.parse(text);
    if (mark?.kind !== "printed by") {
      const isResponse = typeof documented === "object" && documented !== null && "results" in documented;
      return isResponse ? "is the response of a search, and no comment <!-- printed by: sh --> is above it" : undefined;
    }
    if (printedBy === undefined) return `no ${mark.text} block is above it`;
    const { printed } = await run(printedBy.language as "sh" | ScriptLanguage, printedBy.text, bench);
    return isDeepStrictEqual(JSON.parse(printed), documented) ? undefined : `the real response is ${printed}`;
  } catch (error) {
    return String(error);
  }
}

function run(language: "sh" | ScriptLanguage, text: string, bench: Bench): Promise<ScriptResult> {
  return language === "sh" ? runInShell(text, bench) : bench.scripts.run(language, text, bench.caller);
}

function isScript(language: string): language is ScriptLanguage {
  return ["ts", "js", "python"].includes(language);
}

/** For samples in this folder. */
export function openSamples(folder: string, environment: Record<string, string> = {}): Scripts {
  return openScripts(folder, { ...environmentIn(folder), ...environment });
}

function environmentIn(folder: string): Record<string, string> {
  const path = [join(folder, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"] ?? ""].join(
    delimiter,
  );
  return { ...compileCache, PATH: path, HOME: folder, CURL_HOME: folder };
}

function runInShell(text: string, { folder, caller, operator }: Bench): Promise<ScriptResult> {
  // Servers and admin commands reject unknown PENNYBLACK_ settings.
  const isOperator = /^(?:npm run|psql) /m.test(text);
  const env = { ...environmentIn(folder), ...(isOperator ? operator : caller) };
  const options = { cwd: isOperator ? root : folder, env, timeout: 60_000 };
  return new Promise((done) => {
    execFile("/bin/sh", ["-euc", text], options, (error, out, err) =>
      done({ code: error === null ? 0 : (error.code ?? error.signal ?? "nothing"), printed: `${out}${err}` }),
    );
  });
}
