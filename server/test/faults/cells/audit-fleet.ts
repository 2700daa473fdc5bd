import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import { audit } from "../audit.ts";
import type { Cell } from "./cell.ts";
import type { Fleet } from "./fleet.ts";
import type { LoadEntry } from "./fleet-load.ts";

/**
 * Compares the journal with the ledger of each account's cell, and reconciles each. Returns the violations. No load may run.
 * Holds of killed servers are aged to expire after `holdLifetimeMs`. Undefined: after the regular minute.
 */
export async function auditFleet(
  { cells }: Pick<Fleet, "cells">,
  entries: readonly LoadEntry[],
  { holdLifetimeMs }: { holdLifetimeMs: number | undefined },
): Promise<string[]> {
  const violations: string[] = [];
  for (const cell of cells) {
    await untilNoHolds(cell, holdLifetimeMs);
    const own = entries.filter(({ account }) => account.home === cell.name);
    const audited = await audit(cell.ownerUrl, own);
    violations.push(...audited.violations.map((violation) => `${cell.name}: ${violation}`));
  }
  return violations;
}

async function untilNoHolds({ name, owner }: Cell, holdLifetimeMs: number | undefined): Promise<void> {
  await until(
    `no hold is pending in ${name}`,
    async () => {
      if (holdLifetimeMs !== undefined) await owner.query(ageHolds, [holdLifetimeMs]);
      const { rowCount } = await owner.query("select from pb.wallets where held_micros > 0 limit 1");
      if (rowCount !== 0) await wait(200);
      return rowCount === 0;
    },
    100_000,
  );
}

const ageHolds = `
  update pb.searches set expires_at = clock_timestamp()
  where state = 'pending' and held_at < clock_timestamp() - $1 * interval '1 millisecond'
    and expires_at > clock_timestamp()`;
