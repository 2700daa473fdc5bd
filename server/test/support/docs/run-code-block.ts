import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { compileCache } from "../services/compile-cache.ts";
import type { CodeBlock } from "./read-code-blocks.ts";

export interface Bench {
  /** Contains the installed `@pennyblack/sdk` and the settings of curl. */
  folder: string;
  /** Environment of a caller: base URL and keys. */
  caller: Record<string, string>;
  /** Environment of an operator. */
  operator: Record<string, string>;
}

const root = resolve(import.meta.dirname, "../../../..");

/** Why a block does not do what its page documents, or undefined if it does. */
export async function faultOf(block: CodeBlock, bench: Bench): Promise<string | undefined> {
  const { language, text, mark } = block;
  if (mark?.kind === "not run" || language === "text") return undefined;
  if (language === "json") return faultOfJson(text);

  const command = commandFor(block, bench);
  if (command === undefined) return `cannot run code in "${language}"`;
  const { code, printed } = await run(command, bench, /^(?:npm run|psql) /m.test(text));
  if ((code !== 0) !== (mark?.kind === "fails")) return `ended with ${code}:\n${printed}`;
  if (mark !== undefined && !printed.includes(mark.text)) return `did not print ${mark.text}, but:\n${printed}`;
  return undefined;
}

function faultOfJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

function commandFor({ language, text, line }: CodeBlock, { folder }: Bench): [string, string[]] | undefined {
  if (language === "sh") return ["/bin/sh", ["-euc", text]];
  // Debian's, which has httpx if the package python3-httpx is installed.
  if (language === "python") return ["/usr/bin/python3", ["-c", text]];
  if (language !== "ts" && language !== "js") return undefined;
  const file = join(folder, `block-${line}.${language === "ts" ? "ts" : "mjs"}`);
  writeFileSync(file, text);
  return [process.execPath, [file]];
}

function run([program, words]: [string, string[]], { folder, caller, operator }: Bench, isOperator: boolean) {
  // Servers and admin commands reject unknown PENNYBLACK_ settings.
  const own = isOperator ? operator : caller;
  const path = [join(folder, "node_modules/.bin"), process.env["PATH"] ?? ""].join(delimiter);
  const env = { ...compileCache, PATH: path, HOME: folder, CURL_HOME: folder, ...own };
  return new Promise<{ code: string | number; printed: string }>((done) => {
    execFile(program, words, { cwd: isOperator ? root : folder, env, timeout: 60_000 }, (error, out, err) =>
      done({ code: error === null ? 0 : (error.code ?? error.signal ?? "nothing"), printed: `${out}${err}` }),
    );
  });
}
