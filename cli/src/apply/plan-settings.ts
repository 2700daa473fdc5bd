import type { ApplyFile } from "./apply-file.ts";
import type { Change, Wallet } from "./change.ts";
import { findDifferences } from "./differences.ts";

export function planAlerts({ alerts }: ApplyFile, wallet: Wallet): Change[] {
  if (!alerts) return [];
  const differences = findDifferences(alerts, wallet.alerts ?? {});
  if (differences.length === 0) return [];
  const apply: Change["apply"] = async ({ client }) => void (await client.alerts.update(alerts));
  return [{ section: "alerts", action: "update", differences, apply }];
}

export function planAutoTopUp({ auto_top_up: desired }: ApplyFile, { autoTopUp: current }: Wallet): Change[] {
  if (desired === undefined || !current) return [];
  const section = "auto_top_up";
  if (desired === null) {
    if (current.state === "none") return [];
    const apply: Change["apply"] = async ({ client }) => void (await client.autoTopUp.delete());
    return [{ section, action: "remove", differences: [], apply }];
  }
  const differences = findDifferences({ daily_cap: desired.monthly_cap, ...desired }, current);
  if (differences.length === 0) return [];
  const apply: Change["apply"] = async ({ client }) => void (await client.autoTopUp.update(desired));
  return [{ section, action: current.state === "none" ? "create" : "update", differences, apply }];
}
