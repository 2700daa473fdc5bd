import { createSecretKey, hash, randomUUIDv7 } from "node:crypto";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createLane } from "../db/lane.ts";
import { type Queryable, withTimeout } from "../db/pool.ts";
import type { Compat } from "../dialects/dialects.ts";
import type { MaxRun } from "../lib/max-run.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import type { KeyGuessLimiter } from "../limits/key-guessing.ts";
import { Problem, type ProblemOptions } from "../problems/problems.ts";
import { type CompatBody, toCompat } from "./compat.ts";
import { describeInvalidKey } from "./describe-invalid-key.ts";
import { maxSearches } from "./key-body.ts";
import { type CachedKey, createKeyCache } from "./key-cache.ts";
import { digestKey, type KeyMode, mintKey, type Pepper, readKeyMode, startOfKey } from "./key-format.ts";
import { type MaxRunBody, toMaxRun } from "./max-run.ts";
import { defaultScopes, hasScope, type Scope, scopesOf } from "./scopes.ts";
import { type SourcesBody, toSourcePolicy } from "./source-policy.ts";

export { type KeyMode, keyPattern, type Pepper } from "./key-format.ts";
export { findKeys, type LeakedKey, revokeLeakedKeys } from "./leaked-keys.ts";
export { findKeyWallet, findWalletKeys, type KeyOfWallet } from "./list-keys.ts";
export { readOwnKeys } from "./manage-keys.ts";
export type { Scope } from "./scopes.ts";

/** The caller: its key, its wallet, and the key's permissions. */
export interface Principal {
  keyId: string;
  walletId: string;
  mode: KeyMode;
  scopes: readonly Scope[];
  searchesPerSecond: number;
  searchesInFlight: number;
  /** For the compatibility endpoints. Undefined if the key has no such settings. */
  compat?: Compat;
  /** Undefined if searches may return results of every domain. */
  sources?: SourcePolicy;
  /** Undefined if its callers can name any run, or none. */
  maxRun?: MaxRun;
  /** Of the wallet. Undefined if it had none at the look-up, and for a key chosen in the console. */
  sealedDataKey?: Buffer | undefined;
  /** Whether the wallet stores the ids of end users as they are sent. Undefined for a key chosen in the console. */
  storesPlainEndUsers?: boolean;
}

export interface Keys {
  /**
   * Returns the principal of a key, or throws 401 or 403. The scope "any" accepts every key. `onFound` is called with the
   * principal of a key that exists, before it is accepted or refused.
   */
  authenticate(key: string, from: string, scope: Scope | "any", onFound?: OnFound): Promise<Principal>;
  /**
   * Returns the principal of a connected app. `identity` is the app and its person; no caller can send it as a key. If no key
   * has its digest, `connect` creates one or throws.
   */
  authenticateApp(identity: string, from: string, connect: ConnectApp, onFound?: OnFound): Promise<Principal>;
  close(): void;
}

export type OnFound = (found: Principal) => void;

/** Creates the key of an app with this digest. */
export type ConnectApp = (key: { pepperVersion: number; digest: Buffer }) => Promise<void>;

/** Authenticates a management request and applies its limits. Every management route calls it first. */
export type Guard = (request: FastifyRequest, reply: FastifyReply, scope: Scope | "any") => Promise<Principal>;

export interface KeysOptions {
  /** Without it, invalid keys are not counted. */
  guessLimiter?: KeyGuessLimiter;
  onUse?: (keyId: string) => void;
  /** How long a look-up waits while the database is unavailable. Default: the normal timeout. */
  outageMs?: number;
  /** Occupies a slot for work on a key that may not exist, until the returned function is called. Rejects if none is free in time. */
  enterLookUp?: (address: string) => Promise<() => void>;
}

interface FoundKey extends Principal, CachedKey {
  allowedIps: BlockList | undefined;
  refusal: "api_key_revoked" | "api_key_expired" | "account_suspended" | undefined;
}

const lookUpTimeoutMs = 2_000;

/**
 * Caches keys and batches look-ups. Neither authorizes spending: the hold checks revocation, expiry and suspension again
 * in its own transaction.
 */
export function createKeys(db: Queryable, peppers: readonly Pepper[], options: KeysOptions = {}): Keys {
  const { guessLimiter, onUse, enterLookUp = async () => () => undefined } = options;
  // Creating a KeyObject takes longer than the digest itself, so create each one once.
  const pepperKeys = peppers.map(({ bytes }) => ({ bytes: createSecretKey(bytes) }));
  const lookUps = createLane<Buffer[], FoundKey | undefined>({
    send: (keys) => readKeys(db, keys),
    ownerOf: (digests) => digests[0]?.toString("base64") ?? "",
    timeoutMs: lookUpTimeoutMs,
    // The same as for a hold, because a search starts with a look-up if no poll has succeeded for a second.
    outageTimeoutMs: options.outageMs ?? lookUpTimeoutMs,
  });
  const cache = createKeyCache<FoundKey>(() => readChangedKeys(db));

  async function authenticate(key: string, from: string, scope: Scope | "any", onFound?: OnFound): Promise<Principal> {
    // Hashed, so that no key is held in memory. It is never stored, and costs a quarter of an HMAC.
    const name = hash("sha256", key, "base64");
    const identity = { name, digest: () => digestsOf(key)[0]?.toString("base64") ?? "" };
    await guessLimiter?.check(from, identity);
    const found = readKeyMode(key) === undefined ? undefined : await findKey(key, name, from);
    if (!found) throw await countInvalid(key, from);
    if (!found.refusal) guessLimiter?.recordValid(identity);
    return admit(found, { from, scope, onFound });
  }

  const authenticateApp: Keys["authenticateApp"] = async (identity, from, connect, onFound) => {
    const found = await cache.find(hash("sha256", identity, "base64"), () =>
      inLookUpSlot(from, async () => {
        const known = await lookUp(identity);
        if (known) return known;
        const [digest] = digestsOf(identity);
        const [pepper] = peppers;
        if (!digest || !pepper) throw new Error("there is no pepper");
        await connect({ pepperVersion: pepper.version, digest });
        return lookUp(identity);
      }),
    );
    if (!found) throw new Error("the app was connected, but has no key");
    return admit(found, { from, scope: "search", onFound });
  };

  function admit(found: FoundKey, use: Use): Principal {
    use.onFound?.(found);
    checkUse(found, use);
    onUse?.(found.keyId);
    return found;
  }

  function digestsOf(key: string): Buffer[] {
    return pepperKeys.map((pepper) => digestKey(key, pepper));
  }

  function findKey(key: string, name: string, from: string): Promise<FoundKey | undefined> {
    return cache.find(name, () =>
      guessLimiter?.isKnownHere(name) ? lookUp(key) : inLookUpSlot(from, () => lookUp(key)),
    );
  }

  function lookUp(key: string): Promise<FoundKey | undefined> {
    return lookUps.submit(digestsOf(key)).catch((cause: unknown): never => {
      throw new Problem("ledger_unavailable", { cause });
    });
  }

  async function countInvalid(key: string, from: string): Promise<Problem> {
    const limited = guessLimiter && (await inLookUpSlot(from, () => guessLimiter.countInvalid(from)));
    return limited ?? new Problem("api_key_invalid", { values: { fault: describeInvalidKey(key) } });
  }

  /** A flood of unknown keys, which cost a query or a round trip to Redis each, must not delay the keys that work. */
  async function inLookUpSlot<Result>(from: string, work: () => Promise<Result>): Promise<Result> {
    const leave = await enterLookUp(from);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return { authenticate, authenticateApp, close: cache.close };
}

interface Use {
  from: string;
  scope: Scope | "any";
  onFound: OnFound | undefined;
}

function checkUse(found: FoundKey, { from, scope }: Use): void {
  if (found.refusal) throw new Problem(found.refusal);
  if (found.allowedIps && !isListed(found.allowedIps, from)) {
    throw new Problem("ip_not_allowed", { values: { ip: from } });
  }
  if (scope !== "any" && !hasScope(found.scopes, scope)) throw insufficientScope(scope, found.mode);
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
  limitsId?: string;
}

/** Returns the key itself once; only its digest is stored. */
export async function createKey(db: Queryable, pepper: Pepper, newKey: NewKey): Promise<{ id: string; key: string }> {
  const id = randomUUIDv7();
  const labels = await db.query<{ label: string | null }>("select pb.label_account($1) as label", [newKey.walletId]);
  const key = mintKey(newKey.mode, labels.rows[0]?.label);
  await db.query(
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, expires_at, allowed_ips,
       searches_per_second, searches_in_flight, limits_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      id,
      newKey.walletId,
      newKey.mode,
      newKey.name,
      startOfKey(key),
      pepper.version,
      digestKey(key, pepper),
      newKey.scopes ?? defaultScopes[newKey.mode],
      newKey.expiresAt ?? null,
      newKey.allowedIps ?? null,
      newKey.searchesPerSecond ?? maxSearches,
      newKey.searchesInFlight ?? maxSearches,
      newKey.limitsId ?? null,
    ],
  );
  return { id, key };
}

/** Once this resolves, the key can no longer spend. False if there was nothing to revoke. */
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
  has_expiry: boolean;
  compat: CompatBody | null;
  sources: SourcesBody | null;
  max_run: MaxRunBody | null;
  data_key: Buffer | null;
  stores_plain_end_users: boolean;
}

async function readChangedKeys(db: Queryable): Promise<string[]> {
  const statement = { name: "changed_keys", text: "select pb.changed_keys() as id" };
  const { rows } = await db.query<{ id: string }>(withTimeout(1_000, statement));
  return rows.map(({ id }) => id);
}

/** Each key is given by its digests, one per pepper. */
async function readKeys(db: Queryable, keys: readonly Buffer[][]): Promise<(FoundKey | undefined)[]> {
  const statement = { name: "find_principals", text: "select * from pb.find_principals($1)", values: [keys.flat()] };
  const { rows } = await db.query<KeyRow>(withTimeout(1_000, statement));
  const found = new Map(rows.map((row) => [row.digest.toString("base64"), toFoundKey(row)]));
  return keys.map((digests) => {
    const digest = digests.find((candidate) => found.has(candidate.toString("base64")));
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
    hasExpiry: row.has_expiry,
    ...(row.compat && { compat: toCompat(row.compat) }),
    ...(row.sources && { sources: toSourcePolicy(row.sources) }),
    ...(row.max_run && { maxRun: toMaxRun(row.max_run) }),
    sealedDataKey: row.data_key ?? undefined,
    storesPlainEndUsers: row.stores_plain_end_users,
  };
}

function refusalOf(row: KeyRow): FoundKey["refusal"] {
  if (row.is_revoked) return "api_key_revoked";
  if (row.is_expired) return "api_key_expired";
  return row.is_suspended ? "account_suspended" : undefined;
}

export function insufficientScope(scope: Scope, mode: KeyMode): Problem {
  return missingScopes([scope], { values: { advice: adviceFor(scope, mode) } });
}

function adviceFor(scope: Scope, mode: KeyMode): string {
  if (scope === "search") return "To search, use a key that starts with `pb_live_` or `pb_test_`";
  if (!scopesOf.mgmt.includes(scope)) return "Use a live or test key that has it, or create one with `POST /v1/keys`";
  if (mode === "mgmt") return "Use a management key that has it, or create one with `POST /v1/keys`";
  return "Search keys only search, so use a management key, which starts with `pb_mgmt_`";
}

/** `required_scope` is the first one; the header lists all. */
export function missingScopes(scopes: readonly Scope[], options: Pick<ProblemOptions, "detail" | "values">): Problem {
  return new Problem("insufficient_scope", {
    ...options,
    members: { required_scope: scopes[0] },
    headers: { "www-authenticate": `Bearer realm="search", error="insufficient_scope", scope="${scopes.join(" ")}"` },
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
