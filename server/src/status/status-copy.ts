import { randomUUIDv7 } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { renderStatus } from "./render-status.ts";
import type { ServiceStatus } from "./status-schema.ts";

// A copy of the page as files, for a host that still works while the service does not.

export interface StatusPage {
  html: Buffer;
  json: Buffer;
}

export function encodeStatus(status: ServiceStatus, publicUrl: string): StatusPage {
  return { html: Buffer.from(renderStatus(status, publicUrl)), json: Buffer.from(`${JSON.stringify(status)}\n`) };
}

/** Replaces index.html and status.json in an existing folder. A reader never gets a part of a file. */
export async function writeStatusFiles(folder: string, { html, json }: StatusPage): Promise<void> {
  await replaceFile(folder, "status.json", json);
  await replaceFile(folder, "index.html", html);
}

async function replaceFile(folder: string, name: string, content: Buffer): Promise<void> {
  // In the same folder, because a rename is atomic only within a file system, and under a new name, because several workers
  // can share the folder.
  const unfinished = join(folder, `.${name}.${randomUUIDv7()}`);
  await writeFile(unfinished, content);
  await rename(unfinished, join(folder, name));
}

export interface StatusCopyOptions {
  folder: string;
  readPage: () => Promise<StatusPage>;
  /** Called after each attempt. */
  onAttempt: (error: unknown) => void;
  intervalMs?: number;
}

/**
 * Writes the copy every minute. Not a task in the database, because the copy must show that the database does not respond.
 */
export function startStatusCopy({ folder, readPage, onAttempt, intervalMs = 60_000 }: StatusCopyOptions) {
  let writing: Promise<void> | undefined;
  function write(): void {
    writing ??= readPage()
      .then((page) => writeStatusFiles(folder, page))
      .then(() => onAttempt(undefined), onAttempt)
      .finally(() => {
        writing = undefined;
      });
  }
  write();
  const timer = setInterval(write, intervalMs).unref();
  return {
    async close(): Promise<void> {
      clearInterval(timer);
      await writing;
    },
  };
}
