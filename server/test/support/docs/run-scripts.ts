import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { timeFactor } from "../assertions/until.ts";

// Runs TypeScript and Python samples in one process per language, because starting a process and importing its libraries takes
// longer than a sample. A sample that ends the process fails, and the next one gets a new process.

export type ScriptLanguage = "ts" | "js" | "python";

export interface ScriptResult {
  /** 0, or what ended the sample. */
  code: string | number;
  printed: string;
}

export interface Scripts {
  /** One at a time in each language. The environment is added to that of earlier samples. */
  run(language: ScriptLanguage, text: string, environment: Record<string, string>): Promise<ScriptResult>;
  close(): void;
}

const maxMs = timeFactor * 60_000;

const nodeProgram = `
const { inspect } = process.getBuiltinModule("node:util");
let printed = "";
for (const stream of [process.stdout, process.stderr]) stream.write = (chunk) => (printed += chunk, true);
process.on("message", async ({ file, environment }) => {
  Object.assign(process.env, environment);
  printed = "";
  let code = 0;
  await import(file).catch((error) => {
    code = 1;
    printed += inspect(error);
  });
  process.send({ code, printed });
});
process.send("ready");
`;

const pythonProgram = `
import contextlib, io, json, os, sys, traceback
for line in sys.stdin:
    job = json.loads(line)
    os.environ.update(job["environment"])
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(job["text"], "sample", "exec"), {"__name__": "__main__"})
        except BaseException:
            code = 1
            traceback.print_exc()
    print(json.dumps({"code": code, "printed": printed.getvalue()}), flush=True)
`;

/** `folder` contains the packages that samples import. */
export function openScripts(folder: string, environment: NodeJS.ProcessEnv): Scripts {
  const children = new Set<ChildProcess>();
  const start = (program: string, args: string[], stdio: ("pipe" | "ignore" | "ipc")[]): ChildProcess => {
    const child = spawn(program, args, { cwd: folder, env: environment, stdio });
    children.add(child);
    return child;
  };
  const runInNode = queue(() => startNode(folder, start));
  const runInPython = queue(() => startPython(start));
  return {
    run: (language, text, own) =>
      language === "python"
        ? runInPython({ language, text, environment: own })
        : runInNode({ language, text, environment: own }),
    close: () => {
      for (const child of children) child.kill("SIGKILL");
    },
  };
}

interface Script {
  language: ScriptLanguage;
  text: string;
  environment: Record<string, string>;
}

interface Runner {
  child: ChildProcess;
  /** The result of a script that ends the process. */
  ended: Promise<ScriptResult>;
  send: (script: Script) => Promise<ScriptResult>;
}

type Start = (program: string, args: string[], stdio: ("pipe" | "ignore" | "ipc")[]) => ChildProcess;

/** Runs one script at a time, in a new process if the last one ended. */
function queue(open: () => Promise<Runner>): (script: Script) => Promise<ScriptResult> {
  let runner: Promise<Runner> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  async function runNext(script: Script): Promise<ScriptResult> {
    const { child, send, ended } = await (runner ??= open());
    const timer = setTimeout(() => child.kill("SIGKILL"), maxMs);
    const result = await Promise.race([send(script), ended]);
    clearTimeout(timer);
    if (child.exitCode !== null || child.signalCode !== null) runner = undefined;
    return result;
  }
  return (script) => {
    const result = last.then(() => runNext(script));
    last = result.catch(() => undefined);
    return result;
  };
}

async function describeEnd(child: ChildProcess): Promise<ScriptResult> {
  let printed = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    printed += chunk;
  });
  const [code, signal] = await once(child, "exit");
  return { code: `process ended: ${String(signal ?? code)}`, printed };
}

async function startNode(folder: string, start: Start): Promise<Runner> {
  const program = join(folder, "run-samples.mjs");
  writeFileSync(program, nodeProgram);
  const child = start(process.execPath, [program], ["ignore", "ignore", "pipe", "ipc"]);
  const ended = describeEnd(child);
  await once(child, "message");
  let count = 0;
  return {
    child,
    ended,
    async send({ language, text, environment }) {
      count += 1;
      const file = join(folder, `sample-${child.pid}-${count}.${language === "ts" ? "ts" : "mjs"}`);
      writeFileSync(file, text);
      child.send({ file, environment });
      const [result] = (await once(child, "message")) as [ScriptResult];
      return result;
    },
  };
}

async function startPython(start: Start): Promise<Runner> {
  // Debian's, which has httpx if the package python3-httpx is installed.
  const child = start("/usr/bin/python3", ["-c", pythonProgram], ["pipe", "pipe", "pipe"]);
  let received = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    received += chunk;
  });
  return {
    child,
    ended: describeEnd(child),
    async send({ text, environment }) {
      received = "";
      child.stdin?.write(`${JSON.stringify({ text, environment })}\n`);
      while (!received.endsWith("\n")) await once(child.stdout ?? child, "data");
      return JSON.parse(received) as ScriptResult;
    },
  };
}
