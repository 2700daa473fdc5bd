import { createSecretKey, hash, randomUUIDv7 } from "node:crypto";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createLane } from "../db/lane.ts";
import { type Queryable, within } from "../db/pool.ts";
import { Problem } from "../problems.ts";
import type { Guesses } from "./guesses.ts";
import { digestKey, type KeyMode, mintKey, type Pepper, readKeyMode, startOfKey } from "./key-format.ts";
import { type RememberedKey, rememberKeys } from "./remember-keys.ts";
import { defaultScopes, type Scope } from "./scopes.ts";

export type { KeyMode, Pepper } from "./key-format.ts";
export { findKeys, type LeakedKey, revokeLeakedKeys } from "./leaked-keys.ts";
export { listKeys } from "./list-keys.ts";
export type { Scope } from "./scopes.ts";

/** Who is asking, and what the key lets them do. */
export interface Principal {
  keyId: string;
  walletId: string;
  mode: KeyMode;
  scopes: readonly Scope[];
  searchesPerSecond: number;
  searchesInFlight: number;
}

export interface Keys {
  /** Turns a key into its principal, or refuses with 401 or 403. "any": whatever its scopes. */
  authenticate(key: string | undefined, from: string, scope: Scope | "any"): Promise<Principal>;
  close(): void;
}

/** Lets a management key in, within its limits, or refuses. What every management route begins with. */
export type Enter = (request: FastifyRequest, reply: FastifyReply, scope: Scope | "any") => Promise<Principal>;

export interface KeyParts {
  /** Counts wrong keys; without it, nobody does. */
  guesses?: Guesses;
  onUse?: (keyId: string) => void;
}

interface FoundKey extends Principal, RememberedKey {
  allowedIps: BlockList | undefined;
  refusal: "api_key_revoked" | "api_key_expired" | "account_suspended" | undefined;
}

/**
 * A key's row is remembered while nobody changes it, and look-ups that gather go out together. That decides nothing
 * about money: the hold checks revocation, expiry and suspension again in its own transaction.
 */
export function createKeys(db: Queryable, peppers: readonly Pepper[], parts: KeyParts = {}): Keys {
  const { guesses, onUse } = parts;
  // As bytes, a pepper would be made a key again for each look-up, which takes longer than the digest itself.
  const readyPeppers = peppers.map(({ bytes }) => ({ bytes: createSecretKey(bytes) }));
  const lookUps = createLane<Buffer[], FoundKey | undefined>({
    send: (wanted) => readKeys(db, wanted),
    ownerOf: (digests) => digests[0]?.toString("base64") ?? "",
    patienceMs: 2_000,
  });
  const memory = rememberKeys<FoundKey>(() => readChangedKeys(db));

  async function authenticate(key: string | undefined, from: string, scope: Scope | "any"): Promise<Principal> {
    if (key === undefined) throw new Problem("authentication_required");
    // A plain hash, so that memory holds no key; it is never stored, and a quarter of the price of an HMAC.
    const name = hash("sha256", key, "base64");
    const knownBy = { name, digest: () => digestsOf(key)[0]?.toString("base64") ?? "" };
    await guesses?.refuse(from, knownBy);
    const found = readKeyMode(key) === undefined ? undefined : await findKey(key, name);
    if (!found) throw (await guesses?.countWrong(from)) ?? new Problem("api_key_invalid");
    if (found.refusal) throw new Problem(found.refusal);
    guesses?.noteGood(knownBy);
    if (found.allowedIps && !isListed(found.allowedIps, from)) throw new Problem("ip_not_allowed");
    if (scope !== "any" && !found.scopes.includes(scope)) throw lacksScope(scope);
    onUse?.(found.keyId);
    return found;
  }

  function digestsOf(key: string): Buffer[] {
    return readyPeppers.map((pepper) => digestKey(key, pepper));
  }

  function findKey(key: string, name: string): Promise<FoundKey | undefined> {
    return memory.find(name, () =>
      lookUps.submit(digestsOf(key)).catch((cause: unknown): never => {
        throw new Problem("ledger_unavailable", { cause });
      }),
    );
  }

  return { authenticate, close: memory.close };
}

export interface NewKey {
  walletId: string;
  mode: KeyMode;
  name: string;
  scopes?: readonly Scope[];
  expiresAt?: Date;
  allowedIps?: readonly string[];
  searchesPerSecond?: number;
  searchesInFlight?: number;
  budgetId?: string;
}

/** The only moment the key itself exists here: it is returned, and only its digest is kept. */
export async function createKey(db: Queryable, pepper: Pepper, wanted: NewKey): Promise<{ id: string; key: string }> {
  const id = randomUUIDv7();
  const key = mintKey(wanted.mode);
  await db.query(
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, expires_at, allowed_ips,
       searches_per_second, searches_in_flight, budget_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      id,
      wanted.walletId,
      wanted.mode,
      wanted.name,
      startOfKey(key),
      pepper.version,
      digestKey(key, pepper),
      wanted.scopes ?? defaultScopes[wanted.mode],
      wanted.expiresAt ?? null,
      wanted.allowedIps ?? null,
      wanted.searchesPerSecond ?? 1_000,
      wanted.searchesInFlight ?? 1_000,
      wanted.budgetId ?? null,
    ],
  );
  return { id, key };
}

/** From the moment this resolves, the key can spend nothing. False if there was nothing to revoke. */
export async function revokeKey(db: Queryable, key: { walletId: string; keyId: string }): Promise<boolean> {
  const { rows } = await db.query<{ revoked: boolean }>("select pb.revoke_key($1, $2) as revoked", [
    key.walletId,
    key.keyId,
  ]);
  return rows[0]?.revoked ?? false;
}

interface KeyRow {
  digest: Buffer;
  id: string;
  wallet_id: string;
  mode: KeyMode;
  scopes: Scope[];
  allowed_ips: string[] | null;
  searches_per_second: number;
  searches_in_flight: number;
  is_revoked: boolean;
  is_expired: boolean;
  is_suspended: boolean;
  is_passing: boolean;
}

async function readChangedKeys(db: Queryable): Promise<string[]> {
  const statement = { name: "changed_keys", text: "select pb.changed_keys() as id" };
  const { rows } = await db.query<{ id: string }>(within(1_000, statement));
  return rows.map(({ id }) => id);
}

/** For each key wanted, by its digest under any of the peppers. */
async function readKeys(db: Queryable, wanted: readonly Buffer[][]): Promise<(FoundKey | undefined)[]> {
  const statement = { name: "look_up_keys", text: "select * from pb.look_up_keys($1)", values: [wanted.flat()] };
  const { rows } = await db.query<KeyRow>(within(1_000, statement));
  const found = new Map(rows.map((row) => [row.digest.toString("base64"), toFoundKey(row)]));
  return wanted.map((digests) => {
    const digest = digests.find((each) => found.has(each.toString("base64")));
    return digest && found.get(digest.toString("base64"));
  });
}

function toFoundKey(row: KeyRow): FoundKey {
  return {
    keyId: row.id,
    walletId: row.wallet_id,
    mode: row.mode,
    scopes: row.scopes,
    searchesPerSecond: row.searches_per_second,
    searchesInFlight: row.searches_in_flight,
    allowedIps: row.allowed_ips ? toBlockList(row.allowed_ips) : undefined,
    refusal: refusalOf(row),
    isPassing: row.is_passing,
  };
}

function refusalOf(row: KeyRow): FoundKey["refusal"] {
  if (row.is_revoked) return "api_key_revoked";
  if (row.is_expired) return "api_key_expired";
  return row.is_suspended ? "account_suspended" : undefined;
}

export function lacksScope(scope: Scope): Problem {
  return new Problem("insufficient_scope", {
    members: { required_scope: scope },
    headers: { "www-authenticate": `Bearer realm="search", error="insufficient_scope", scope="${scope}"` },
  });
}

export function toBlockList(networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    list.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  return list;
}

/** An IPv4 caller on a dual-stack socket looks like ::ffff:192.0.2.1. */
export function isListed(list: BlockList, address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
}
