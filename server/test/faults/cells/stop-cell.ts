import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import { createRandom } from "../random.ts";
import { sendSearch } from "../send-search.ts";
import { auditFleet } from "./audit-fleet.ts";
import { type Fleet, type FleetAccount, fail } from "./fleet.ts";
import { countOutcomes, FleetLoad, isSuccess, type LoadEntry, latency } from "./fleet-load.ts";
import type { PartResult } from "./part-result.ts";

export interface StopCellOptions {
  accounts: readonly FleetAccount[];
  searchesPerSecond: number;
  /** The duration of each phase: before, while the cell is stopped, and after. */
  phaseMs: number;
  seed: number;
  /** The p99 of the other cells relative to the time before. Undefined: only reported. */
  maxP99Ratio: number | undefined;
  holdLifetimeMs: number | undefined;
}

const stopped = "us2";

/** Kills every process of a cell under load, and starts it again. */
export async function stopCell(fleet: Fleet, options: StopCellOptions): Promise<PartResult> {
  const { accounts, searchesPerSecond, phaseMs, seed } = options;
  const random = createRandom(seed, "stop a cell");
  const load = new FleetLoad({ url: fleet.url, accounts, searchesPerSecond, random });
  // The first searches of a process are slower.
  await wait(2_000);
  const begunAt = performance.now();
  await wait(phaseMs);
  const killedAt = performance.now();
  await fleet.cell(stopped).kill();
  // Searches in flight during the kill get no response.
  const stoppedAt = performance.now();
  await wait(phaseMs);
  const restartedAt = performance.now();
  await fleet.cell(stopped).start();
  const account = accounts.find(({ home }) => home === stopped) ?? fail("the cell has no accounts");
  await until("the cell serves again", () => isServed(fleet.url, account, load.entries), 30_000);
  const servedAt = performance.now();
  await wait(phaseMs);
  await load.stop();

  const { entries } = load;
  const between = (from: number, to: number): LoadEntry[] =>
    entries.filter(({ sentAt }) => sentAt >= from && sentAt < to);
  const others = entries.filter(({ account: { home } }) => home !== stopped);
  const before = between(begunAt, killedAt).filter((entry) => others.includes(entry));
  const during = between(killedAt, restartedAt).filter((entry) => others.includes(entry));
  const own = between(stoppedAt, restartedAt).filter(({ account: { home } }) => home === stopped);
  const [p99Before, p99During] = [latency(before, 99), latency(during, 99)];
  const ratio = p99During / p99Before;
  return {
    title: "One cell stopped",
    lines: [
      `other cells: ${others.filter(isSuccess).length} of ${others.length} searches answered with 200, ${during.length} of them while ${stopped} was stopped`,
      `other cells: p99 ${p99Before.toFixed(1)} ms before, ${p99During.toFixed(1)} ms while it was stopped, ratio ${ratio.toFixed(2)}`,
      `${stopped} while it was stopped: ${countOutcomes(own)}`,
      `${stopped} served again ${((servedAt - restartedAt) / 1_000).toFixed(1)} s after its start`,
    ],
    violations: [
      ...load.violations,
      ...others.filter((entry) => !isSuccess(entry)).map((entry) => `other cell: ${countOutcomes([entry])}`),
      ...(during.length === 0 ? ["no search reached the other cells while the cell was stopped"] : []),
      ...checkRefusals(own),
      ...between(servedAt, Infinity)
        .filter((entry) => !isSuccess(entry))
        .map((entry) => `after the restart: ${countOutcomes([entry])}`),
      ...(options.maxP99Ratio !== undefined && !(ratio <= options.maxP99Ratio)
        ? [`p99 ratio ${ratio.toFixed(2)} is above ${options.maxP99Ratio}`]
        : []),
      ...(await auditFleet(fleet, entries, options)),
    ],
  };
}

/** Every search of the stopped cell must be refused by the edge, and not be charged. */
function checkRefusals(entries: readonly LoadEntry[]): string[] {
  if (entries.length === 0) return ["no search was sent to the stopped cell"];
  return entries.flatMap((entry) => {
    const { edgeProblem } = entry;
    if (edgeProblem?.code === "ledger_unavailable" && !edgeProblem.charged) return [];
    return [`the stopped cell: ${countOutcomes([entry])}${edgeProblem?.charged ? ", not reported as free" : ""}`];
  });
}

/** Records its searches with those of the load, because they are charged. */
async function isServed(url: string, account: FleetAccount, entries: LoadEntry[]): Promise<boolean> {
  const sentAt = performance.now();
  const outcome = await sendSearch(url, { wallet: account, query: "cats" });
  if (outcome.kind !== "answered" || outcome.requestId === "") return false;
  entries.push({ account, walletId: account.walletId, outcome, sentAt, endedAt: performance.now() });
  return outcome.status === 200;
}
