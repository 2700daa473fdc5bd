import type { UsageGroup, UsageLine } from "../../api/usage.ts";
import { toCsv } from "../../words/csv.ts";

/** The lines that are shown, as they were counted: times in UTC, amounts in USD. */
export function toUsageCsv(
  lines: readonly UsageLine[],
  { by, group, keyNames }: { by: string; group: UsageGroup | undefined; keyNames: ReadonlyMap<string, string> },
): string {
  const heads = { key: ["key_id", "key_name"], category: ["category"], outcome: ["outcome"] };
  const cells = (line: UsageLine): string[] => {
    if (group === "key") return [line.key_id ?? "", keyNames.get(line.key_id ?? "") ?? ""];
    return group === undefined ? [] : [line[group] ?? ""];
  };
  return toCsv([
    [`${by}_utc`, "mode", ...(group === undefined ? [] : heads[group]), "searches", "charged_usd"],
    ...lines.map((line) => [line.start, line.mode, ...cells(line), String(line.searches), line.charged]),
  ]);
}

export function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
