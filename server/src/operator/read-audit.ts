import type { Queryable } from "../db/pool.ts";
import { findWalletAccount } from "../wallet/wallet.ts";

export interface AuditLine {
  number: bigint;
  at: Date;
  operator: string;
  act: string;
  /** The id of the changed subject. */
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

/** A change of a wallet or its account by anyone, as an operator sees it. */
export interface ChangeLine extends Omit<AuditLine, "operator" | "reason"> {
  actor: "operator" | "person" | "key" | "system";
  /** The operator, the address of the person or the name of the key. Null for the system, and after the deletion of the account. */
  by: string | null;
  reason: string | null;
}

/** Changes of a wallet and its account by operators, members, keys and the system, newest first. */
export async function readChanges(
  db: Queryable,
  { walletId, before, limit }: { walletId: string; before?: bigint | undefined; limit: number },
): Promise<ChangeLine[]> {
  const accountId = await findWalletAccount(db, walletId);
  const { rows } = await db.query<ChangeLine>(
    `select c.number, c.at, c.actor, coalesce(c.operator, p.email, k.name) as by, c.act, c.subject,
       c.account_id as "accountId", c.wallet_id as "walletId", c.reason, c.outcome, c.before, c.after
     from pb.changes c
     left join pb.people p on p.id = c.actor_id and c.actor = 'person'
     left join pb.keys k on k.id = c.actor_id and c.actor = 'key'
     where c.account_id = $4 and (c.wallet_id is null or c.wallet_id = $1) and ($2::bigint is null or c.number < $2)
     order by c.number desc limit $3`,
    [walletId, before ?? null, limit, accountId],
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
