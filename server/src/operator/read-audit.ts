import type { Queryable } from "../db/pool.ts";

export interface AuditLine {
  number: bigint;
  at: Date;
  operator: string;
  act: string;
  /** The id of what was changed. */
  subject: string;
  accountId: string | null;
  walletId: string | null;
  reason: string;
  outcome: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

const columns = `number, at, operator, act, subject, account_id as "accountId", wallet_id as "walletId", reason, outcome,
  before, after`;

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
