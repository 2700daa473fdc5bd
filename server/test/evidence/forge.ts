import type { Queryable } from "../../src/db/pool.ts";
import type { LedgerEntry } from "../../src/evidence/ledger-lines.ts";
import { buildLevels, hashLeaf, rootOf } from "../../src/evidence/merkle.ts";
import type { Signer } from "../../src/lib/sign-jws.ts";
import type { HourOfLedger } from "./ledger-rows.ts";

// Changes that an attacker with full access to the database, but without the signing key, can make.

/** Replaces rows of pb.transfers. */
export async function writeRows(
  db: Queryable,
  before: readonly LedgerEntry[],
  after: readonly LedgerEntry[],
): Promise<void> {
  const removed = before.filter((row) => !after.includes(row));
  const added = after.filter((row) => !before.includes(row));
  await db.query("delete from pb.transfers where id = any ($1)", [removed.map(({ id }) => id)]);
  await db.query(
    `insert into pb.transfers (id, wallet_id, kind, from_account, to_account, amount_micros, created_at, search_id)
     select id, wallet_id, kind::pb.transfer_kind, from_account::pb.ledger_account, to_account::pb.ledger_account, micros,
       timestamptz 'epoch' + at * interval '1 microsecond', search_id
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::uuid[])
       as r (id, wallet_id, kind, from_account, to_account, micros, at, search_id)`,
    (
      ["id", "walletId", "kind", "fromAccount", "toAccount", "amountMicros", "createdAtMicros", "searchId"] as const
    ).map((column) => added.map((row) => row[column])),
  );
}

/** Recomputes digests, checkpoints, trees and roots, and signs them with another key. */
export async function writeEvidence(db: Queryable, hours: readonly HourOfLedger[], stranger: Signer): Promise<void> {
  const digests = hours.flatMap(({ hour, digests: found }) =>
    found.map((digest) => ({ hour, ...digest, ...sum(digest) })),
  );
  await db.query("delete from pb.wallet_hours");
  await db.query(
    `insert into pb.wallet_hours (hour, wallet_id, digest, entries, credited_micros, debited_micros, owed_micros)
     select * from unnest($1::timestamptz[], $2::uuid[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])`,
    (["hour", "walletId", "digest", "count", "credited", "debited", "owed"] as const).map((column) =>
      digests.map((row) => row[column]),
    ),
  );
  await db.query("delete from pb.wallet_checkpoints");
  await db.query(
    `insert into pb.wallet_checkpoints (wallet_id, hour, entries, credited_micros, debited_micros, owed_micros, digest)
     select wallet_id, max(hour), sum(entries), sum(credited_micros), sum(debited_micros), sum(owed_micros),
       (array_agg(digest order by hour desc))[1]
     from pb.wallet_hours group by wallet_id`,
  );
  await db.query(
    `update pb.ledger_hours h set root = f.root, signed = f.signed, entries = s.entries, wallets = s.wallets,
       credited_micros = s.credited, debited_micros = s.debited, owed_micros = s.owed
     from unnest($1::timestamptz[], $2::bytea[], $3::text[]) as f (hour, root, signed), lateral (
       select coalesce(sum(entries), 0) as entries, count(*) as wallets, coalesce(sum(credited_micros), 0) as credited,
         coalesce(sum(debited_micros), 0) as debited, coalesce(sum(owed_micros), 0) as owed
       from pb.wallet_hours w where w.hour = f.hour
     ) s where h.hour = f.hour`,
    [
      hours.map(({ hour }) => hour),
      hours.map(({ root }) => root),
      await Promise.all(hours.map((hour) => sign(hour, stranger))),
    ],
  );
  const days = [...Map.groupBy(hours, ({ hour }) => hour.slice(0, 10))];
  await db.query(
    "update pb.ledger_days d set root = f.root from unnest($1::date[], $2::bytea[]) as f (day, root) where d.day = f.day",
    [days.map(([day]) => day), days.map(([, own]) => rootOf(buildLevels(own.map(({ root }) => hashLeaf(root)))))],
  );
}

export function sign({ hour, root, digests }: HourOfLedger, signer: Signer): Promise<string> {
  return signer.sign("pennyblack-hour", { hour, root: root.toString("hex"), wallets: digests.length });
}

function sum({ entries }: { entries: LedgerEntry[] }) {
  const total = (isCounted: (entry: LedgerEntry) => boolean): bigint =>
    entries.filter(isCounted).reduce((sums, { amountMicros }) => sums + amountMicros, 0n);
  return {
    count: entries.length,
    credited: total(({ toAccount }) => toAccount === "wallet"),
    debited: total(({ fromAccount }) => fromAccount === "wallet"),
    owed:
      total(({ fromAccount }) => fromAccount === "receivable") - total(({ toAccount }) => toAccount === "receivable"),
  };
}
