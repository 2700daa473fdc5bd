import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileCache } from "./compile-cache.ts";

export interface DevReady {
  url: string;
  opsUrl: string;
  liveKey: string;
  testKey: string;
  managementKey: string;
  walletId: string;
  signInLink: string;
}

export interface DevProcess {
  process: ChildProcess;
  ready: DevReady;
  stdout: () => string;
  stderr: () => string;
  folder: string;
  environmentFile: string;
  /** Files that dev left in the temporary folder. */
  leftBehind: () => string[];
  /** Process ids of its child processes and their descendants while it runs. */
  descendants: () => number[];
  /** Resolves to the exit code. */
  ended: Promise<number | null>;
}

export interface DevOptions {
  args?: string[];
  environment?: Record<string, string>;
  /** Started by npm, as people do. */
  throughNpm?: boolean;
  /** The folder of another dev server, to share its settings files. Default: a new folder. */
  folder?: string;
}

export const anyPorts = ["--port", "0", "--ops-port", "0"];

const folders: string[] = [];
process.once("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const script = new URL("../../../src/dev/dev.ts", import.meta.url).pathname;

/** `npm run dev -- --json` in a new folder with its own temporary folder. Resolves when it is ready. */
export async function startDev(options: DevOptions = {}): Promise<DevProcess> {
  const dev = spawnDev(options);
  const line = await Promise.race([dev.jsonLine, dev.ended.then(() => undefined)]);
  if (line === undefined) throw new Error(`dev exited before it was ready:\n${dev.stderr()}`);
  return { ...dev, ready: JSON.parse(line) as DevReady };
}

/** For a dev that is expected to fail. */
export async function failDev(
  options: DevOptions,
): Promise<{ exitCode: number | null; stdout: string; stderr: string }> {
  const dev = spawnDev(options);
  const exitCode = await dev.ended;
  return { exitCode, stdout: dev.stdout(), stderr: dev.stderr() };
}

function spawnDev(options: DevOptions) {
  const { args = anyPorts, environment = {}, throughNpm = false } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "pb-test-dev-"));
  // When the tests run as root, PostgreSQL runs under another account.
  chmodSync(folder, 0o755);
  const temporary = mkdtempSync(join(folder, "tmp-"));
  chmodSync(temporary, 0o777);
  const words = [script, ...args, "--json"];
  if (throughNpm) {
    const command = `exec "${process.execPath}" "${script}"`;
    writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: { dev: command } }));
  }
  const child = spawn(
    throughNpm ? "npm" : process.execPath,
    throughNpm ? ["run", "dev", "--", ...words.slice(1)] : words,
    {
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        HOME: process.env["HOME"],
        TMPDIR: temporary,
        ...compileCache,
        ...environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let stdout = "";
  let stderr = "";
  const jsonLine = new Promise<string>((resolve) => {
    child.stdout.on("data", (chunk: Buffer) => {
      stdout += chunk.toString();
      const line = stdout
        .split("\n")
        .slice(0, -1)
        .find((each) => each.startsWith("{"));
      if (line) resolve(line);
    });
  });
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, "exit").then(() => child.exitCode);
  // Processes that dev failed to stop must not keep the tests waiting.
  for (const stream of [child.stdout, child.stderr]) (stream as Socket).unref();
  folders.push(folder);
  return {
    process: child,
    jsonLine,
    stdout: () => stdout,
    stderr: () => stderr,
    folder,
    environmentFile: join(folder, ".pennyblack/dev.env"),
    leftBehind: () => readdirSync(temporary).filter((name) => name.startsWith("pennyblack")),
    descendants: () => descendantsOf(child.pid ?? 0),
    ended,
  };
}

export function isAlive(pid: number): boolean {
  // A process that has exited and was not yet waited for is still listed, as a zombie.
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readStat(pid));
}

function descendantsOf(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: Number(/\) \S (\d+)/.exec(readStat(Number(name)))?.[1]) }));
  const children = parents.filter((each) => each.parent === pid).map((each) => each.pid);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Empty for a process that has just exited. */
function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")) return "";
    throw error;
  }
}
