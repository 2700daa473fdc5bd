import type { UsagePeriod } from "@pennyblack/sdk";
import type { UsageGroup } from "../../api/usage-group.ts";
import { formatEndUser } from "../../format/format-end-user.ts";

const outcomes: Record<string, string> = {
  ok: "completed",
  replayed: "replayed",
  caller_left: "client disconnected",
};

export function seriesLabel(
  line: UsagePeriod,
  group: UsageGroup | undefined,
  keyNames: ReadonlyMap<string, string>,
): string {
  if (group === "key") return keyNames.get(line.key_id ?? "") ?? `key ${(line.key_id ?? "").slice(0, 8)}`;
  if (group === "category") return line.category ? line.category : "no category";
  if (group === "outcome") return formatOutcome(line.outcome ?? "");
  if (group === "end_user") return formatEndUser(line.end_user ?? "");
  return "searches";
}

export function formatOutcome(outcome: string): string {
  return outcomes[outcome] ?? outcome.replaceAll("_", " ");
}
