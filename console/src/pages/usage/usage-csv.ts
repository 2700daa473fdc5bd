import type { UsagePeriod } from "@pennyblack/sdk";
import type { UsageGroup } from "../../api/usage-group.ts";
import { toCsv } from "../../format/csv.ts";

/** The visible lines as CSV: times in UTC, amounts in USD. */
export function toUsageCsv(
  lines: readonly UsagePeriod[],
  { by, group, keyNames }: { by: string; group: UsageGroup | undefined; keyNames: ReadonlyMap<string, string> },
): string {
  const headers = {
    key: ["key_id", "key_name"],
    category: ["category"],
    outcome: ["outcome"],
    end_user: ["end_user"],
  };
  const cells = (line: UsagePeriod): string[] => {
    if (group === "key") return [line.key_id ?? "", keyNames.get(line.key_id ?? "") ?? ""];
    return group === undefined ? [] : [line[group] ?? ""];
  };
  // Replays and refusals are not counted by end user.
  const counts = group === "end_user" ? (["searches"] as const) : (["searches", "replays", "refusals"] as const);
  return toCsv([
    [`${by}_utc`, "mode", ...(group === undefined ? [] : headers[group]), ...counts, "charged_usd"],
    ...lines.map((line) => [
      line.start,
      line.mode,
      ...cells(line),
      ...counts.map((name) => String(line[name] ?? 0)),
      line.charged,
    ]),
  ]);
}
