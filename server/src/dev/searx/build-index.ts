import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { CannotStart } from "../cannot-start.ts";
import { findObstacle } from "./searx-packages.ts";

const folder = fileURLToPath(new URL("../../../../.pennyblack/searx/", import.meta.url));
const script = fileURLToPath(new URL("./index-documents.py", import.meta.url));

export interface IndexWish {
  onProgress?: (line: string) => void;
  stopping?: AbortSignal;
}

/** The path of the index of Debian's documentation. Takes seconds the first time; several may ask at once. */
export async function buildIndex({ onProgress = () => {}, stopping }: IndexWish = {}): Promise<string> {
  const obstacle = findObstacle();
  if (obstacle) throw new CannotStart(obstacle);
  // Debian's own Python, which has what searx needs; the first one in PATH may be another. In a group of its own,
  // because it starts helpers that have to end with it.
  const child = spawn("/usr/bin/python3", [script, folder], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const endAll = (): void => void (child.pid && process.kill(-child.pid));
  const lastWords: string[] = [];
  createInterface(child.stderr).on("line", (line) => {
    lastWords.push(line);
    onProgress(line);
  });
  stopping?.addEventListener("abort", endAll, { once: true });
  const [path] = await Promise.all([text(child.stdout), once(child, "close")]);
  stopping?.removeEventListener("abort", endAll);
  // Whoever stopped us does not read the path.
  if (child.exitCode === 0 || stopping?.aborted) return path.trim();
  throw new CannotStart(["The documentation cannot be indexed.", ...lastWords.slice(-5)].join("\n"));
}
