import { join } from "node:path";
import { formatTable } from "./format-table.ts";
import { readShares } from "./read-profile.ts";

/** Compares CPU time by category with and without billing, from the profiles written with --profile. */
export function reportShares(folder: string): Record<string, number> {
  const [bare, billed] = ["bare", "billed"].map((name) => readShares(join(folder, `${name}.cpuprofile`)));
  const categories = [...new Set([...(billed?.keys() ?? []), ...(bare?.keys() ?? [])])];
  const percent = (share: number | undefined): string => (share === undefined ? "" : `${(share * 100).toFixed(1)}%`);
  const rows = categories.map((category) => [category, percent(bare?.get(category)), percent(billed?.get(category))]);
  console.log(formatTable(["server CPU time", "bare", "billed"], rows));
  return Object.fromEntries(
    categories.flatMap((category) => [
      [`bare ${category}`, Number((bare?.get(category) ?? 0).toFixed(4))],
      [`billed ${category}`, Number((billed?.get(category) ?? 0).toFixed(4))],
    ]),
  );
}
