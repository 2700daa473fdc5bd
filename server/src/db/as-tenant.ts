import { inTransaction } from "./in-transaction.ts";
import type { Pool, Queryable } from "./pool.ts";
import { sendFenced } from "./query-fenced.ts";
import { createTurns, type InTurn } from "./turns.ts";

// All wallets share a few connections of a server. Each wallet has at most one for reads and one for changes, so that its slow
// statements, or its changes that wait for a lock, delay only its own. It takes the second one only if another remains free,
// so that two wallets cannot occupy all four. Waiting here instead of in the pool also makes the wallets take turns.

type Work<Result> = (db: Queryable) => Promise<Result>;

/** Who makes a change for a wallet. */
export interface Actor {
  walletId: string;
  /** The id of the management key, or of the console session. */
  keyId: string;
}

/** The maximum duration of one statement. */
const maxWaitMs = 5_000;
const turns = new WeakMap<Pool, InTurn>();

function turnsOf(pool: Pool): InTurn {
  const existing = turns.get(pool);
  if (existing) return existing;
  const created = createTurns({ connections: pool.options.max, timeoutMs: maxWaitMs });
  turns.set(pool, created);
  return created;
}

/** Reads as one wallet: row-level security hides the rows of all other wallets, regardless of the SQL. */
export function asTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  return readInTurn(pool, walletId, () => inTransaction(pool, withWallet(walletId, read), "begin read only"));
}

/** Like asTenant, with one snapshot for all statements. */
export function snapshotAsTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  const begin = "begin isolation level repeatable read read only";
  return readInTurn(pool, walletId, () => inTransaction(pool, withWallet(walletId, read), begin));
}

function readInTurn<Result>(pool: Pool, walletId: string, read: () => Promise<Result>): Promise<Result> {
  return turnsOf(pool)({ owner: walletId, kind: "read" }, read);
}

function withWallet<Result>(walletId: string, work: Work<Result>): Work<Result> {
  return async (db) => {
    // A plan over many partitions exceeds the cost from which PostgreSQL compiles it, which takes seconds for a read of 20 ms.
    await db.query("select set_config('pb.wallet_id', $1, true), set_config('jit', 'off', true)", [walletId]);
    return work(db);
  };
}

/**
 * Calls one function that makes a change, such as "pb.revoke_own_key($2, $3)", in a single statement. Its locks end with the
 * statement. With a separate commit, a server that stalls in between would block every search of the wallet.
 */
export async function callAsTenant<Outcome>(
  pool: Pool,
  walletId: string,
  call: string,
  values: readonly unknown[],
): Promise<Outcome> {
  const expected = `$${values.length + 2}`;
  // The call depends on the row of the materialized CTE, so the settings apply before it runs.
  const text = `with own as materialized (
      select set_config('pb.wallet_id', $1, true) as wallet_id,
        set_config('pb.expected_timeline', coalesce(${expected}::text, ''), true)
    )
    select ${call} as outcome from own where own.wallet_id <> ''`;
  const { rows } = await turnsOf(pool)({ owner: walletId, kind: "change" }, () =>
    sendFenced<{ outcome: Outcome }>(pool, (timeline) => ({ text, values: [walletId, ...values, timeline] })),
  );
  const [row] = rows;
  if (!row) throw new Error("the call returned no row, or no wallet id was given");
  return row.outcome;
}
