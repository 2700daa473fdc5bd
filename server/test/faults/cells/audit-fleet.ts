import { setTimeout as wait } from "node:timers/promises";
import { createPool } from "../../../src/db/pool.ts";
import { parseUsd } from "../../../src/lib/money.ts";
import { formatReport, reconcile } from "../../../src/wallet/wallet.ts";
import { until } from "../../support/assertions/until.ts";
import type { Cell } from "./cell.ts";
import { type Books, compareBooks, type ExpectedMoney } from "./compare-books.ts";
import { type Fleet, type FleetAccount, initialBalance } from "./fleet.ts";
import type { LoadEntry } from "./fleet-load.ts";

export interface AuditOptions {
  /** Only these are compared with the journal. */
  accounts: readonly FleetAccount[];
  /** By default, wallets received only their initial balance. */
  expected?: ExpectedMoney;
  /** Holds of killed servers are aged to expire after this time. Undefined: after the regular minute. */
  holdLifetimeMs: number | undefined;
  /** Cells with a schema of another release cannot be reconciled. */
  reconciled?: readonly Cell[];
}

const initialMoney: ExpectedMoney = () => ({ credited: parseUsd(initialBalance) ?? 0n, debited: 0n });

/** Compares the journal with the ledgers of all cells, and reconciles each. Returns the violations. No load may run. */
export async function auditFleet(
  { cells }: Pick<Fleet, "cells">,
  entries: readonly LoadEntry[],
  { accounts, expected = initialMoney, holdLifetimeMs, reconciled = cells }: AuditOptions,
): Promise<string[]> {
  for (const cell of cells) await untilNoHolds(cell, holdLifetimeMs);
  const walletIds = accounts.map(({ walletId }) => walletId);
  const books = await Promise.all(cells.map((cell) => readBooks(cell, walletIds)));
  const violations = compareBooks(books, entries, expected);
  for (const cell of reconciled) violations.push(...(await reconcileCell(cell)));
  return violations;
}

async function reconcileCell({ name, ownerUrl }: Cell): Promise<string[]> {
  const pool = createPool({
    url: ownerUrl,
    name: "audit",
    connections: 1,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  });
  try {
    const report = await reconcile(pool);
    return report.isClean ? [] : [`${name} is not clean: ${formatReport(report)}`];
  } finally {
    await pool.end();
  }
}

async function readBooks({ name, owner }: Cell, walletIds: readonly string[]): Promise<Books> {
  const { rows: wallets } = await owner.query<Books["wallets"][number]>(
    "select id, credited_micros - debited_micros as balance, held_micros as held from pb.wallets where id = any ($1)",
    [walletIds],
  );
  const { rows: searches } = await owner.query<Books["searches"][number]>(
    `select id, wallet_id as "walletId", state, encode(idempotency_hmac, 'hex') as "keyHmac" from pb.searches
     where wallet_id = any ($1)`,
    [walletIds],
  );
  const { rows: captures } = await owner.query<Books["captures"][number]>(
    `select search_id as id, wallet_id as "walletId", amount_micros as amount from pb.transfers
     where kind = 'capture' and wallet_id = any ($1)`,
    [walletIds],
  );
  return { cell: name, wallets, searches, captures };
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

export const ageHolds = `
  update pb.searches set expires_at = clock_timestamp()
  where state = 'pending' and held_at < clock_timestamp() - $1 * interval '1 millisecond'
    and expires_at > clock_timestamp()`;
