import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { nameOfBudget } from "../wallet/wallet.ts";

export const actors = ["person", "key", "operator", "system"] as const;

/** A change of a wallet or its account, as its owner sees it. */
export interface ActivityLine {
  id: string;
  number: bigint;
  at: Date;
  actor: (typeof actors)[number];
  actorId: string | null;
  /** The address of a person or the name of a key. */
  actorName: string | null;
  act: string;
  /** The id of the changed subject. */
  subject: string;
  subjectName: string | null;
  outcome: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export interface ActivityFilter {
  /** An act, or its subject: "key.change" or "key". */
  act?: string | undefined;
  actor?: ActivityLine["actor"] | undefined;
  actorId?: string | undefined;
  subject?: string | undefined;
  from: Date;
  to?: Date | undefined;
}

interface Page {
  order: "newest" | "oldest";
  /** The number of the last line of the previous page. */
  after?: bigint | undefined;
  limit: number;
}

/** The list of changes is kept for longer, but an owner sees this many days. */
export const activityDays = 400;

/** Row-level security selects the rows of the wallet that owners see. */
export function readActivity(
  tenant: Pool,
  walletId: string,
  { act, actor, actorId, subject, from, to }: ActivityFilter,
  { order, after, limit }: Page,
): Promise<ActivityLine[]> {
  const isNewest = order === "newest";
  return asTenant(tenant, walletId, async (db) => {
    const { rows } = await db.query<ActivityLine>(
      `select c.id, c.number, c.at, c.actor, c.actor_id as "actorId", ${actorName} as "actorName", c.act, c.subject,
         ${subjectName} as "subjectName", c.outcome, c.before, c.after
       from pb.changes c
       where ($1::text is null or c.act = $1 or starts_with(c.act, $1 || '.')) and ($2::text is null or c.actor = $2)
         and ($3::uuid is null or c.actor_id = $3) and ($4::text is null or c.subject = $4)
         and c.at >= $5 and ($6::timestamptz is null or c.at < $6)
         and ($7::bigint is null or c.number ${isNewest ? "<" : ">"} $7)
       order by c.number ${isNewest ? "desc" : "asc"} limit $8`,
      [act, actor, actorId, subject, from, to, after, limit],
    );
    return rows;
  });
}

const actorName = `case c.actor
    when 'person' then pb.name_person(c.actor_id)
    when 'key' then (select k.name from pb.keys k where k.id = c.actor_id)
  end`;

/** Persons are named only where they are not the actor. The address of a webhook has no path, which can be a secret. */
const subjectName = `case split_part(c.act, '.', 1)
    when 'key' then (select k.name from pb.keys k where k.id = c.subject::uuid)
    when 'budget' then coalesce(${nameOfBudget("c.subject::uuid")}, c.after ->> 'name', c.before ->> 'name')
    when 'app' then (select k.name from pb.keys k where k.id = c.subject::uuid)
    when 'member' then case when c.actor_id is distinct from c.subject::uuid then pb.name_person(c.subject::uuid) end
    when 'webhook' then coalesce(
      c.after ->> 'origin', c.before ->> 'origin',
      (select substring(e.url from '^https?://[^/?#]*') from pb.webhook_endpoints e where e.id = c.subject::uuid)
    )
  end`;
