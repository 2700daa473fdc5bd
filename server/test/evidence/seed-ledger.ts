import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLastRoots, readRoots } from "../../src/evidence/roots-folder.ts";
import { signRoots } from "../../src/evidence/sign-roots.ts";
import { createSigner, type Signer } from "../../src/lib/sign-jws.ts";
import { until } from "../support/assertions/until.ts";
import { passWatermarks, waitMs } from "../support/data/close-due-hours.ts";
import { uuidOf } from "../support/data/uuid-of.ts";
import type { TestDatabase } from "../support/services/database.ts";
import { createTestWallet, type TestWallet, testSigningSeed } from "../support/services/server.ts";

export interface SignedLedger {
  wallets: TestWallet[];
  signer: Signer;
  /** The exported roots. */
  folder: string;
  /** The signature of each hour and day. */
  signed: Map<string, string>;
  /** Every closed hour, oldest first. */
  hours: string[];
}

export type BeforeClosing = (wallets: TestWallet[], endMs: number) => Promise<void>;

const dayMs = 86_400_000;

/**
 * Four wallets with entries of every kind in the last seven hours of a day. The hours of that day, and the last seven of the day
 * before it, are closed, but not signed. The day ended at least two days ago: the entries are older than their wallets, so
 * balances must not include those of the last 26 hours. `beforeClosing` can add rows; it receives the end of that day.
 */
export async function seedClosedLedger(db: TestDatabase, beforeClosing?: BeforeClosing): Promise<TestWallet[]> {
  const wallets: TestWallet[] = [];
  for (let count = 0; count < 4; count += 1) wallets.push(await createTestWallet(db, "0.00"));
  const end = Math.floor(Date.now() / dayMs) * dayMs - 2 * dayMs;
  const start = end - 7 * 3_600_000;
  await db.owner.query("select pb.make_partitions($1::date - 1, $1::date + 1)", [new Date(start)]);
  for (const [index, { walletId }] of wallets.entries()) await insertEntries(db, walletId, start, index);
  await beforeClosing?.(wallets, end);
  await passWatermarks(db.owner);
  await closeUnverified(db, new Date(end + 15 * 60_000));
  return wallets;
}

/** Closes hours without comparing their entries with searches and payments, which these tests do not need. */
async function closeUnverified({ owner }: TestDatabase, now: Date): Promise<void> {
  const closeNext = async (): Promise<boolean> => {
    const { rows } = await owner.query<{ hour: Date; state: string }>("select * from pb.prepare_hour($1)", [now]);
    const [next] = rows;
    if (next?.state === "ready") await owner.query("select pb.close_hour($1)", [next.hour]);
    return next?.state === "open";
  };
  await until("every hour is closed", closeNext, waitMs);
}

/** The same, signed and exported. */
export async function seedSignedLedger(db: TestDatabase, beforeClosing?: BeforeClosing): Promise<SignedLedger> {
  const wallets = await seedClosedLedger(db, beforeClosing);
  const signer = createSigner([testSigningSeed]);
  if (!signer) throw new Error("no signer");
  const folder = await mkdtemp(join(tmpdir(), "pb-roots-"));
  await signRoots(db.owner, { signer, publicUrl: "http://search.test", folder });
  const signed = new Map<string, string>();
  for await (const { root } of readRoots(folder)) if (root) signed.set(root.of, root.signed);
  if ((await readLastRoots(folder)).day === "") throw new Error("no day was signed");
  return { wallets, signer, folder, signed, hours: [...signed.keys()].filter((of) => of.length > 10).toSorted() };
}

/** The wallets differ in their entries and in the hours that they are active in. */
async function insertEntries(db: TestDatabase, walletId: string, start: number, index: number): Promise<void> {
  const insert = async (
    atMs: number,
    legs: string,
    micros: number,
    searchId: string | null = null,
    id = uuidOf(atMs),
  ) => {
    const [kind, from, to] = legs.split(" ");
    await db.owner.query(
      `insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz + interval '137 microseconds')`,
      [id, walletId, searchId, kind, from, to, micros, new Date(atMs)],
    );
    return id;
  };
  await insert(start + index, "top_up cash wallet", 5_000_000);
  for (let hour = 0; hour < 7; hour += 1) {
    if ((hour + index) % 4 === 3) continue;
    const at = start + hour * 3_600_000 + index * 1_000;
    for (let count = 0; count <= index; count += 1) {
      const id = uuidOf(at + count * 60_000);
      await insert(at + count * 60_000 + 400, "capture wallet revenue", 10_000, id, id);
      if (count === 1) await insert(at + 30 * 60_000, "refund revenue wallet", 10_000, id);
    }
    if (hour === 4) await insert(at + 100, "reversal wallet cash", 200_000);
    if (hour === 4) await insert(at + 200, "receivable receivable cash", 300_000);
    if (hour === 5) await insert(at + 300, "credit promotion wallet", 1_000_000);
    if (hour === 6) await insert(at + 400, "settlement wallet receivable", 300_000);
  }
}
