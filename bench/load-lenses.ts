import { fileURLToPath } from "node:url";
import { openLenses } from "../server/src/lenses/lenses.ts";

// A child process of measure-lens-loading.ts: loads the lenses as a starting server does, with or without registries.

if (!globalThis.gc) throw new Error("run with --expose-gc");
const folder = fileURLToPath(new URL("../server/lenses", import.meta.url));
globalThis.gc();
const bytesBefore = process.memoryUsage().heapUsed;
const startedMs = performance.now();
const lenses = openLenses(folder, process.argv[2] === "without-registries" ? [] : undefined);
const ms = performance.now() - startedMs;
globalThis.gc();
const bytes = process.memoryUsage().heapUsed - bytesBefore;
// Used after the collection, so that the lenses are counted.
console.log(JSON.stringify({ ms, bytes, lenses: lenses.list().length }));
