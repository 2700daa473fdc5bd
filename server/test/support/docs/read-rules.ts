import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The text of all alert rules. */
export function readRules(folder: string): string {
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("");
}
