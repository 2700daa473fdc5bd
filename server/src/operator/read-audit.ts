import type { Queryable } from "../db/pool.ts";

export interface AuditLine {
  number: bigint;
  at: Date;
  operator: string;
  act: string;
  walletId: string | null;
  target: string;
  reason: string;
  outcome: string;
  details: Record<string, unknown>;
}

const columns = `number, at, operator, act, wallet_id as "walletId", target, reason, outcome, details`;

/** Newest first. */
export async function readAudit(
  db: Queryable,
  query: { walletId?: string | undefined; before?: bigint | undefined; limit: number },
): Promise<AuditLine[]> {
  const { rows } = await db.query<AuditLine>(
    `select ${columns} from pb.audit_log
     where ($1::uuid is null or wallet_id = $1) and ($2::bigint is null or number < $2)
     order by number desc limit $3`,
    [query.walletId ?? null, query.before ?? null, query.limit],
  );
  return rows;
}

/** Oldest first, after a number, for an export in pages. */
export async function readAuditSince(
  db: Queryable,
  query: { walletId?: string | undefined; since?: Date | undefined; after: bigint; limit: number },
): Promise<AuditLine[]> {
  const { rows } = await db.query<AuditLine>(
    `select ${columns} from pb.audit_log
     where ($1::uuid is null or wallet_id = $1) and ($2::timestamptz is null or at >= $2) and number > $3
     order by number limit $4`,
    [query.walletId ?? null, query.since ?? null, query.after, query.limit],
  );
  return rows;
}
