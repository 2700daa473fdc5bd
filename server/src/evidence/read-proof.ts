import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { formatHour } from "./ledger-lines.ts";
import { buildLevels, hashLeaf, pathOf } from "./merkle.ts";

/** A leaf's place in a tree, and the sibling hashes from it to the root, in hex. */
interface Place {
  leafIndex: number;
  treeSize: number;
  path: string[];
  /** The signed root. */
  signed: string;
}

export interface WalletProof {
  hour: string;
  completeUntil: string;
  digest: string;
  inHour: Place;
  /** Undefined until the day is complete. */
  inDay: Place | undefined;
}

interface ProofRow {
  hour: Date;
  complete_until: Date;
  digest: Buffer;
  leaf_index: bigint;
  tree_size: bigint;
  path: Buffer[];
  signed: string;
  hour_roots: Buffer[] | null;
  day_signed: string | null;
}

const hex = (bytes: Buffer): string => bytes.toString("hex");

/** The proof for the wallet's last signed hour that ended at or before `until`. Undefined if there is none. */
export async function readProof(pool: Pool, walletId: string, until: Date): Promise<WalletProof | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<ProofRow>("select * from pb.own_proof($1)", [until]),
  );
  const [row] = rows;
  if (!row) return undefined;
  return {
    hour: formatHour(row.hour),
    completeUntil: formatHour(row.complete_until),
    digest: hex(row.digest),
    inHour: {
      leafIndex: Number(row.leaf_index),
      treeSize: Number(row.tree_size),
      path: row.path.map(hex),
      signed: row.signed,
    },
    inDay: placeInDay(row),
  };
}

/** The first day can have fewer than 24 hours. */
function placeInDay({ hour, hour_roots: roots, day_signed: signed }: ProofRow): Place | undefined {
  if (!roots || signed === null) return undefined;
  const leafIndex = hour.getUTCHours() - (24 - roots.length);
  const path = pathOf(buildLevels(roots.map(hashLeaf)), leafIndex).map(hex);
  return { leafIndex, treeSize: roots.length, path, signed };
}
