import type { Queryable } from "../../../src/db/pool.ts";
import { withoutTriggers } from "./without-triggers.ts";

/** Deletes all closed hours, so that the ledger is as after an upgrade from a release without them. */
export async function restartHours(owner: Queryable): Promise<void> {
  await owner.query(
    withoutTriggers(`
      delete from pb.ledger_days; delete from pb.hour_trees; delete from pb.ledger_hours; delete from pb.wallet_hours;
      delete from pb.wallet_checkpoints; delete from pb.window_checkpoints;
      update pb.ledger_watermark set closed_before = '-infinity', closing_before = null, closing_xid = null,
        begun_at = null, opening_micros = 0`),
  );
}
