import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import type { Cell } from "./cell.ts";
import type { Fleet, FleetAccount } from "./fleet.ts";
import type { OwnerActions } from "./owner-actions.ts";
import { readActive } from "./watch-owners.ts";

// What must hold in the databases after the moves. A cell that an account has left keeps copies of its rows.

/** The cell of each wallet, and a violation for each account that is not active in exactly one cell. */
export async function findOwners(
  { cells }: Pick<Fleet, "cells">,
  accounts: readonly FleetAccount[],
): Promise<{ owners: Map<string, Cell>; violations: string[] }> {
  const active = await Promise.all(
    cells.map(async (cell) => ({
      cell,
      ids: new Set(
        await readActive(
          cell,
          accounts.map(({ accountId }) => accountId),
        ),
      ),
    })),
  );
  const owners = new Map<string, Cell>();
  const violations: string[] = [];
  for (const { accountId, walletId } of accounts) {
    const found = active.filter(({ ids }) => ids.has(accountId)).map(({ cell }) => cell);
    if (found.length !== 1)
      violations.push(`account ${accountId} is active in ${found.map(({ name }) => name).join(" and ") || "no cell"}`);
    if (found[0]) owners.set(walletId, found[0]);
  }
  return { owners, violations };
}

/** Each acknowledged change must be in the account's cell, and the copies in other cells must be of the same booking. */
export async function findLostActions(
  fleet: Fleet,
  owners: ReadonlyMap<string, Cell>,
  { acknowledged }: OwnerActions,
): Promise<string[]> {
  await comparePayments(fleet, owners, acknowledged);
  const violations: string[] = [];
  for (const { kind, walletId, id } of acknowledged) {
    const owner = owners.get(walletId);
    const bookings = new Map<string, string>();
    for (const cell of fleet.cells) {
      const { rows } = await cell.owner.query<{ booking: string }>(findAction[kind], [id]);
      if (rows[0]) bookings.set(cell.name, rows[0].booking);
    }
    if (owner && !bookings.has(owner.name)) violations.push(`the ${kind} ${id} is missing in ${owner.name}`);
    if (new Set(bookings.values()).size > 1)
      violations.push(`the ${kind} ${id} was applied in ${[...bookings.keys()].join(" and ")}`);
  }
  return violations;
}

const findPayment = "select transfer_id::text as booking from pb.payments where payment_id = $1";
const findReversal = "select taken_transfer_id::text as booking from pb.reversals where reversal_id = $1";
const findAction = {
  credit: findPayment,
  payment: findPayment,
  refund: findReversal,
  dispute: findReversal,
  revocation: "select 'revoked' as booking from pb.keys where id::text = $1 and revoked_at is not null",
};

/** The worker does this every five minutes. It books what was reported to a cell that did not own the account. */
async function comparePayments(
  { cells }: Fleet,
  owners: ReadonlyMap<string, Cell>,
  acknowledged: OwnerActions["acknowledged"],
): Promise<void> {
  for (const { owner } of cells)
    await owner.query("select graphile_worker.add_job('compare_payments', '{}'::json, job_key => 'compare_payments')");
  const isBooked = async ({ kind, walletId, id }: (typeof acknowledged)[number]): Promise<boolean> =>
    ((await owners.get(walletId)?.owner.query(findAction[kind], [id]))?.rowCount ?? 0) > 0;
  await until(
    "all payments are compared",
    async () => {
      const found = await Promise.all(acknowledged.map(isBooked));
      if (found.includes(false)) await wait(500);
      return !found.includes(false);
    },
    30_000,
    // Missing ones are reported by the caller.
  ).catch(() => undefined);
}
