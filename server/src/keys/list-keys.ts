import { type Creator, creatorOf } from "../db/creator-of.ts";
import type { Queryable } from "../db/pool.ts";
import type { CompatBody } from "./compat.ts";
import type { KeyMode } from "./key-format.ts";
import type { MaxRunBody } from "./max-run.ts";
import type { Scope } from "./scopes.ts";
import type { SourcesBody } from "./source-policy.ts";

export interface KeyView {
  id: string;
  mode: KeyMode;
  name: string;
  /** The first characters of the key. */
  start: string;
  state: "active" | "expired" | "revoked";
  scopes: Scope[];
  allowedIps: string[] | null;
  searchesPerSecond: number;
  searchesInFlight: number;
  limitsId: string | null;
  compat: CompatBody | null;
  sources: SourcesBody | null;
  maxRun: MaxRunBody | null;
  externalId: string | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  revokedReason: "owner" | "operator" | "leaked" | "account_deleted" | null;
  rotatedFrom: string | null;
  /** Up to a minute old. */
  lastUsedAt: Date | null;
  createdAt: Date;
  createdBy: Creator | null;
}

/** A wallet's keys, newest first: all of them, one of them, or a page. */
export async function listKeys(
  db: Queryable,
  walletId: string,
  options: { id?: string; before?: string | undefined; limit?: number } = {},
): Promise<KeyView[]> {
  const { rows } = await db.query<KeyView>(
    `select id, mode, name, start, scopes, allowed_ips::text[] as "allowedIps",
       searches_per_second as "searchesPerSecond", searches_in_flight as "searchesInFlight", limits_id as "limitsId",
       expires_at as "expiresAt", revoked_at as "revokedAt", revoked_reason as "revokedReason",
       compat, sources, max_run as "maxRun", external_id as "externalId", rotated_from as "rotatedFrom",
       last_used_at as "lastUsedAt", created_at as "createdAt",
       ${stateOf} as state, ${creatorOf("keys.id", ["key.create", "key.rotate", "app.connect"])} as "createdBy"
     from pb.keys
     where wallet_id = $1 and ($2::uuid is null or id = $2) and ($3::uuid is null or id < $3)
     order by id desc limit $4`,
    [walletId, options.id ?? null, options.before ?? null, options.limit ?? null],
  );
  return rows;
}

/** The wallet of a key, for operators. */
export async function findKeyWallet(operator: Queryable, keyId: string): Promise<string | undefined> {
  const { rows } = await operator.query<{ wallet_id: string }>("select wallet_id from pb.keys where id = $1", [keyId]);
  return rows[0]?.wallet_id;
}

/** A key of any wallet, as an operator sees it. */
export interface KeyOfWallet extends Pick<KeyView, "id" | "mode" | "name" | "start" | "state"> {
  walletId: string;
}

/** Keys by their ids or first characters. The beginning of a key finds it, whether it is shorter or longer than the stored ones. */
export async function findWalletKeys(
  operator: Queryable,
  { ids, start, limit }: { ids?: readonly string[]; start?: string; limit: number },
): Promise<KeyOfWallet[]> {
  const { rows } = await operator.query<KeyOfWallet>(
    `select id, wallet_id as "walletId", mode, name, start, ${stateOf} as state from pb.keys
     where ($1::uuid[] is null or id = any ($1))
       and ($2::text is null or starts_with(start, $2) or starts_with($2, start))
     order by id desc limit $3`,
    [ids ?? null, start ?? null, limit],
  );
  return rows;
}

const stateOf = `case
    when revoked_at is not null then 'revoked'
    when expires_at <= clock_timestamp() then 'expired'
    else 'active'
  end`;
