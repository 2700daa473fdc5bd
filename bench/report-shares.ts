import { join } from "node:path";
import { formatTable } from "./format-table.ts";
import { readShares } from "./read-profile.ts";

/** Of the profiles that a bench with --profile has left: where the time of a search goes, with billing and without. */
export function reportShares(folder: string): Record<string, number> {
  const [bare, billed] = ["bare", "billed"].map((name) => readShares(join(folder, `${name}.cpuprofile`)));
  const parts = [...new Set([...(billed?.keys() ?? []), ...(bare?.keys() ?? [])])];
  const percent = (share: number | undefined): string => (share === undefined ? "" : `${(share * 100).toFixed(1)} %`);
  const rows = parts.map((part) => [part, percent(bare?.get(part)), percent(billed?.get(part))]);
  console.log(formatTable(["CPU of the server", "bare", "billed"], rows));
  return Object.fromEntries(
    parts.flatMap((part) => [
      [`bare ${part}`, Number((bare?.get(part) ?? 0).toFixed(4))],
      [`billed ${part}`, Number((billed?.get(part) ?? 0).toFixed(4))],
    ]),
  );
}
