import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openLenses } from "../server/src/lenses/lenses.ts";

// A child process of measure-lens-loading.ts: loads the lenses as a starting server does, with or without registries.

if (!globalThis.gc) throw new Error("run with --expose-gc");
const folder = mkdtempSync(join(tmpdir(), "pb-lenses-"));
const isLeftOut = (path: string): boolean => process.argv[2] === "without-registries" && path.endsWith(".registry");
cpSync(fileURLToPath(new URL("../server/lenses", import.meta.url)), folder, {
  recursive: true,
  filter: (path) => !isLeftOut(path),
});
globalThis.gc();
const bytesBefore = process.memoryUsage().heapUsed;
const startedMs = performance.now();
const lenses = openLenses(folder);
const ms = performance.now() - startedMs;
globalThis.gc();
const bytes = process.memoryUsage().heapUsed - bytesBefore;
rmSync(folder, { recursive: true });
// Used after the collection, so that the lenses are counted.
console.log(JSON.stringify({ ms, bytes, lenses: lenses.list().length }));
