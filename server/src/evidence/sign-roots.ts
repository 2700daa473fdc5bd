import type { Queryable } from "../db/pool.ts";
import type { Signer } from "../lib/sign-jws.ts";
import { formatHour } from "./ledger-lines.ts";
import { buildLevels, hashLeaf, hashRecordsLeaf, hashWalletLeaf, rootOf } from "./merkle.ts";
import { appendRoots, type ExportedRoot, readLastRoots } from "./roots-folder.ts";

// Signs closed hours, oldest first, and each day after its last hour, and appends the roots that are missing to the folder. A
// run that is interrupted is completed by the next one.

export interface SignOptions {
  signer: Signer;
  /** The issuer. */
  publicUrl: string;
  /** The folder for exported roots. Without it, roots are only stored and logged. */
  folder?: string | undefined;
  onSigned?: (signed: ExportedRoot) => void;
  signal?: AbortSignal;
}

/** The signed content of an hour's root. */
export interface HourClaims {
  iss: string;
  hour: string;
  root: string;
  wallets: number;
  entries: number;
  /** The root of the hour before. Null for the first hour. */
  previous: string | null;
}

/** The signed content of a day's root. The first day can have fewer than 24 hours. */
export interface DayClaims {
  iss: string;
  day: string;
  root: string;
  hours: number;
  /** The root of the day before. Null for the first day. */
  previous: string | null;
}

/** Runs as the owner. Returns the number of hours signed. */
export async function signRoots(db: Queryable, options: SignOptions): Promise<number> {
  const { folder, onSigned, signal } = options;
  const exported = folder === undefined ? undefined : await readLastRoots(folder);
  let count = 0;
  for (;;) {
    const hour = await readNextHour(db);
    if (!hour || signal?.aborted) break;
    if (hour.hasLaterRoot) throw signedBefore(formatHour(hour.hour));
    const signed = await signHour(db, hour, options, exported?.hour);
    // Another worker was faster.
    if (!signed) break;
    onSigned?.(signed);
    count += 1;
  }
  for (const day of await listDaysToSign(db)) {
    if (exported && day <= exported.day) throw signedBefore(day);
    const signed = await signDay(db, day, options);
    if (signed) onSigned?.(signed);
  }
  if (folder !== undefined && exported) await exportRoots(db, folder, exported);
  return count;
}

/** The worker would otherwise sign a changed history for an attacker who controls only the database. */
function signedBefore(of: string): Error {
  return new Error(
    `${of} has no root, but a later or an exported root exists: it was signed before. Run admin verify.`,
  );
}

interface ClosedHour {
  hour: Date;
  entries: bigint;
  wallets: bigint;
  recordsDigest: Buffer;
  previous: Buffer | null;
  hasLaterRoot: boolean;
}

async function readNextHour(db: Queryable): Promise<ClosedHour | undefined> {
  const { rows } = await db.query<ClosedHour>(
    `select h.hour, h.entries, h.wallets, h.records_digest as "recordsDigest",
       (select p.root from pb.ledger_hours p where p.hour = h.hour - interval '1 hour') as previous,
       exists (select from pb.ledger_hours l where l.hour > h.hour and l.root is not null) as "hasLaterRoot"
     from pb.ledger_hours h where h.root is null order by h.hour limit 1`,
  );
  return rows[0];
}

async function signHour(
  db: Queryable,
  { hour, entries, wallets, recordsDigest, previous }: ClosedHour,
  { signer, publicUrl: iss }: SignOptions,
  lastExported: string | undefined,
): Promise<ExportedRoot | undefined> {
  const of = formatHour(hour);
  if (lastExported !== undefined && of <= lastExported) throw signedBefore(of);
  const leaves = await readLeaves(db, hour);
  if (leaves.length !== Number(wallets)) throw new Error(`the hour ${of} has ${leaves.length} digests, not ${wallets}`);
  const levels = buildLevels([...leaves, hashRecordsLeaf(recordsDigest)]);
  const root = rootOf(levels).toString("hex");
  const claims: HourClaims = {
    iss,
    hour: of,
    root,
    wallets: leaves.length,
    entries: Number(entries),
    previous: previous && previous.toString("hex"),
  };
  const signed = await signer.sign("pennyblack-hour", claims);
  const { rows } = await db.query<{ isNew: boolean }>('select pb.sign_hour($1, $2, $3, $4) as "isNew"', [
    hour,
    rootOf(levels),
    signed,
    levels,
  ]);
  return rows[0]?.isNew ? { of, root, signed } : undefined;
}

const pageSize = 10_000;

async function readLeaves(db: Queryable, hour: Date): Promise<Buffer[]> {
  const leaves: Buffer[] = [];
  for (let after = "00000000-0000-0000-0000-000000000000"; ; ) {
    const { rows } = await db.query<{ wallet_id: string; digest: Buffer }>(
      `select wallet_id, digest from pb.wallet_hours where hour = $1 and wallet_id > $2 order by wallet_id limit ${pageSize}`,
      [hour, after],
    );
    for (const { wallet_id: walletId, digest } of rows) leaves.push(hashWalletLeaf(walletId, digest));
    if (rows.length < pageSize) return leaves;
    after = rows.at(-1)?.wallet_id ?? after;
  }
}

/** Days whose last hour is signed. */
async function listDaysToSign(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ day: string }>(
    `select pb.utc_day(h.hour)::text as day from pb.ledger_hours h
     where h.root is not null and h.hour = date_trunc('day', h.hour, 'utc') + interval '23 hours'
       and not exists (select from pb.ledger_days d where d.day = pb.utc_day(h.hour))
     order by h.hour`,
  );
  return rows.map(({ day }) => day);
}

async function signDay(
  db: Queryable,
  day: string,
  { signer, publicUrl: iss }: SignOptions,
): Promise<ExportedRoot | undefined> {
  const { rows } = await db.query<{ root: Buffer }>(
    `select root from pb.ledger_hours
     where hour >= $1::date::timestamp at time zone 'utc' and hour < ($1::date + 1)::timestamp at time zone 'utc' order by hour`,
    [day],
  );
  const before = await db.query<{ root: Buffer }>("select root from pb.ledger_days where day = $1::date - 1", [day]);
  const root = rootOf(buildLevels(rows.map((row) => hashLeaf(row.root))));
  const claims: DayClaims = {
    iss,
    day,
    root: root.toString("hex"),
    hours: rows.length,
    previous: before.rows[0]?.root.toString("hex") ?? null,
  };
  const signed = await signer.sign("pennyblack-day", claims);
  const stored = await db.query<{ isNew: boolean }>('select pb.sign_day($1, $2, $3) as "isNew"', [day, root, signed]);
  return stored.rows[0]?.isNew ? { of: day, root: claims.root, signed } : undefined;
}

/** Appends every root after the last exported ones. */
async function exportRoots(db: Queryable, folder: string, last: { hour: string; day: string }): Promise<void> {
  for (let after = last.hour || "-infinity"; ; ) {
    const { rows } = await db.query<{ hour: Date; root: Buffer; signed: string }>(
      `select hour, root, signed from pb.ledger_hours where hour > $1 and signed is not null order by hour limit 1000`,
      [after],
    );
    const roots = rows.map(({ hour, root, signed }) => ({ of: formatHour(hour), root: root.toString("hex"), signed }));
    await appendRoots(folder, roots);
    if (rows.length < 1_000) break;
    after = roots.at(-1)?.of ?? after;
  }
  const { rows } = await db.query<{ day: string; root: Buffer; signed: string }>(
    "select day::text as day, root, signed from pb.ledger_days where day > $1 order by day",
    [last.day || "-infinity"],
  );
  await appendRoots(
    folder,
    rows.map(({ day, root, signed }) => ({ of: day, root: root.toString("hex"), signed })),
  );
}
