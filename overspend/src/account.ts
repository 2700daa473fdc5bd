import { setTimeout as wait } from "node:timers/promises";
import type { Account } from "./target.ts";

const pollMs = 500;
/** The amount counts as final when it has not changed for this long. */
const stableMs = 3_000;
const maxWaitMs = 120_000;

/** Reads the amount of the account, and again until it no longer changes: gateways often write charges late. */
export async function readSettledAmount(account: Account): Promise<number> {
  const startedAt = performance.now();
  let amount = await readAmount(account);
  let changedAt = performance.now();
  while (performance.now() - changedAt < stableMs && performance.now() - startedAt < maxWaitMs) {
    await wait(pollMs);
    const next = await readAmount(account);
    if (next !== amount) changedAt = performance.now();
    amount = next;
  }
  return amount;
}

/** The number of calls that were charged between two readings. */
export function countCharges({ shows, price }: Account, before: number, after: number): number {
  const amount = shows === "spent" ? after - before : before - after;
  return Math.round((amount / price) * 1e6) / 1e6;
}

/** Retries, because the gateway may just be restarting. */
async function readAmount({ url, headers, field }: Account): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
      if (!response.ok) throw new Error(`status ${response.status}`);
      return pick(await response.json(), field);
    } catch (error) {
      if (attempt === 20) throw new Error(`The account at ${url} cannot be read.`, { cause: error });
      await wait(pollMs);
    }
  }
}

function pick(body: unknown, field: string): number {
  let value = body;
  for (const name of field.split(".")) {
    value = typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  }
  const amount = typeof value === "string" && value !== "" ? Number(value) : value;
  if (typeof amount === "number" && Number.isFinite(amount)) return amount;
  throw new Error(`The account's response has no number at "${field}".`);
}
