import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

/** Writes `<file>.br` and `<file>.gz` beside each text file of a built site, for the server to send. */
export function compressFiles(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/\.(?:css|html|js|json|md|svg)$/.test(name)) continue;
    const bytes = readFileSync(join(folder, name));
    // A shorter file fits into one packet anyway.
    if (bytes.length < 1_000) continue;
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
}
