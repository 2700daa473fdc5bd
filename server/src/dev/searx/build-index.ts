import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { StartupError } from "../startup-error.ts";
import { findObstacle } from "./searx-packages.ts";

const folder = fileURLToPath(new URL("../../../../.pennyblack/searx/", import.meta.url));
const script = fileURLToPath(new URL("./index-documents.py", import.meta.url));

export interface IndexOptions {
  onProgress?: (line: string) => void;
  stopping?: AbortSignal;
}

/** Returns the path of the index, building it if needed, which takes seconds. Safe to call concurrently. */
export async function buildIndex({ onProgress = () => {}, stopping }: IndexOptions = {}): Promise<string> {
  const obstacle = findObstacle();
  if (obstacle) throw new StartupError(obstacle);
  // Debian's own Python has searx's dependencies; the first python3 in PATH may not. It runs in its own process group,
  // so that its worker processes can be stopped with it.
  const child = spawn("/usr/bin/python3", [script, folder], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const killGroup = (): void => void (child.pid && process.kill(-child.pid));
  const stderrLines: string[] = [];
  createInterface(child.stderr).on("line", (line) => {
    stderrLines.push(line);
    onProgress(line);
  });
  stopping?.addEventListener("abort", killGroup, { once: true });
  const [path] = await Promise.all([text(child.stdout), once(child, "close")]);
  stopping?.removeEventListener("abort", killGroup);
  if (child.exitCode === 0 || stopping?.aborted) return path.trim();
  throw new StartupError(["Indexing the documentation failed.", ...stderrLines.slice(-5)].join("\n"));
}
