import { type AccountView, listAccounts } from "../accounts/accounts.ts";
import type { Pool } from "../db/pool.ts";
import { isUuid } from "../http/input/query-parameters.ts";
import { findWalletKeys, type KeyOfWallet } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import { timeOfId } from "../lib/time-of-id.ts";
import {
  findRequest,
  readList,
  readSearchDetails,
  type SearchDetails,
  type SearchLine,
  serializeItem,
} from "../usage/usage.ts";
import { findSearch, listWallets, readSearchesSince, type SearchOfWallet } from "../wallet/wallet.ts";
import { recordView, type Viewer } from "./record-view.ts";

// The look-up for support, of the console, `npm run admin -- find` and `npm run fleet -- find`. It reads a wallet's
// searches with the owner's queries, after the view is recorded.

export interface FindQuery {
  /** A Request-Id, the id of a wallet, key or account, the first characters of a key, an e-mail address, or a part of a name. */
  text: string;
  /** With one of these, the searches, refusals and replays of the wallets that were found. `to` is exclusive. */
  from?: Date | undefined;
  to?: Date | undefined;
  /** As in GET /v1/searches. */
  outcome?: string | undefined;
}

/** The answer of GET /operator/find. */
export interface Found {
  request: FoundRequest | null;
  /** For an unknown id: the possible reasons, and the reasons that are ruled out. */
  unknown: string | null;
  wallets: FoundWallet[];
  /** Newest first. */
  searches: (SearchLine & { wallet_id: string })[];
  /** There are more searches, or more wallets whose searches are not listed. */
  has_more: boolean;
}

export type FoundRequest = SearchDetails & {
  wallet_id: string;
  /** `refused` and `replayed` have no ledger row. */
  state: SearchOfWallet["state"] | "refused" | "replayed";
  /** The upstreams queried, in order, with the reason of each failure: "brave:timeout,searxng". */
  upstreams: string | null;
};

export interface FoundWallet {
  id: string;
  name: string;
  account: { id: string; name: string; owners: string[]; deleted_at: string | null } | null;
  balance: string;
  suspended: boolean;
  /** Those that the text names. */
  keys: { id: string; name: string; start: string; mode: string; state: string }[];
}

const maxWallets = 20;
/** Wallets whose searches are listed. */
const maxListed = 5;
const maxSearches = 50;

export async function find(db: Pool, viewer: Viewer, query: FindQuery): Promise<Found> {
  const text = findStart(query.text);
  const request = isUuid(text.toLowerCase()) ? await findById(db, viewer, text.toLowerCase()) : null;
  const keys = request ? await findWalletKeys(db, { ids: [request.key_id], limit: 1 }) : await keysOf(db, text);
  const wallets = request
    ? await listWallets(db, { ids: [request.wallet_id], limit: 1 })
    : await walletsOf(db, text, keys);
  const accounts = await listAccounts(db, { ids: wallets.map(({ accountId }) => accountId), limit: maxWallets });
  const hasFilter = [query.from, query.to, query.outcome].some((value) => value !== undefined);
  const listed = hasFilter && !request ? wallets.slice(0, maxListed) : [];
  const lists = await Promise.all(listed.map(({ id }) => listSearches(db, viewer, { ...query, walletId: id, keys })));
  const searches = lists.flatMap(({ lines }) => lines).toSorted((a, b) => (a.request_id < b.request_id ? 1 : -1));
  return {
    request,
    unknown: isUuid(text.toLowerCase()) && wallets.length === 0 ? await describeUnknownId(db, text) : null,
    wallets: wallets.map((wallet) => ({
      id: wallet.id,
      name: wallet.name,
      account: serializeAccount(accounts.find(({ id }) => id === wallet.accountId)),
      balance: formatUsd(wallet.balance),
      suspended: wallet.isSuspended,
      keys: keys
        .filter(({ walletId }) => walletId === wallet.id)
        .map(({ id, name, start, mode, state }) => ({ id, name, start, mode, state })),
    })),
    searches: searches.slice(0, maxSearches),
    has_more:
      searches.length > maxSearches ||
      lists.some(({ isPartial }) => isPartial) ||
      (hasFilter && wallets.length > listed.length && !request),
  };
}

async function findById(db: Pool, viewer: Viewer, id: string): Promise<FoundRequest | null> {
  const search = await findSearch(db, id);
  const place = search ?? (await findRequest(db, id));
  if (!place) return null;
  await recordView(db, viewer, place.walletId);
  const details = await readSearchDetails(db, place.walletId, id);
  if (!details) return null;
  const state = search?.state ?? (details.kind === "replayed" ? "replayed" : "refused");
  return { ...details, wallet_id: place.walletId, state, upstreams: search?.upstreams ?? null };
}

/** The mode, the label of a cell and the first four characters, which identify a key in lists. */
const keyStart = /^pb_(?:live|test|mgmt)_(?:[0-9a-z]{10}_)?[0-9A-Za-z]{0,4}/;

/** Without the secret of a key that was pasted as a whole, so that it is in no URL and no log. */
export function findStart(text: string): string {
  return keyStart.exec(text.trim())?.[0] ?? text.trim();
}

async function keysOf(db: Pool, text: string): Promise<KeyOfWallet[]> {
  if (isUuid(text.toLowerCase())) return findWalletKeys(db, { ids: [text.toLowerCase()], limit: 1 });
  return keyStart.test(text) ? findWalletKeys(db, { start: text, limit: maxWallets }) : [];
}

async function walletsOf(db: Pool, text: string, keys: readonly KeyOfWallet[]) {
  if (keys.length > 0) return listWallets(db, { ids: keys.map(({ walletId }) => walletId), limit: maxWallets });
  if (keyStart.test(text)) return [];
  if (text.includes("@")) {
    const accounts = await listAccounts(db, { email: text.toLowerCase(), limit: maxWallets });
    return listWallets(db, { accountIds: accounts.map(({ id }) => id), limit: maxWallets });
  }
  const id = text.toLowerCase();
  if (!isUuid(id)) return listWallets(db, { name: text, limit: maxWallets });
  const [wallet] = await listWallets(db, { ids: [id], limit: 1 });
  return wallet ? [wallet] : listWallets(db, { accountIds: [id], limit: maxWallets });
}

async function listSearches(
  db: Pool,
  viewer: Viewer,
  { walletId, keys, from, to, outcome }: FindQuery & { walletId: string; keys: readonly KeyOfWallet[] },
) {
  await recordView(db, viewer, walletId);
  const own = keys.filter((key) => key.walletId === walletId);
  const query = { kind: "all", from, to, outcome, keyId: own.length === 1 ? own[0]?.id : undefined } as const;
  const { items, next, unlisted } = await readList(db, walletId, { ...query, limit: maxSearches });
  const lines = items.map((item) => ({ ...serializeItem(item), wallet_id: walletId }));
  return { lines, isPartial: next !== undefined || (unlisted?.count ?? 0) > 0 };
}

function serializeAccount(account: AccountView | undefined): FoundWallet["account"] {
  if (!account) return null;
  const { id, name, owners, deletedAt } = account;
  return { id, name, owners, deleted_at: deletedAt?.toISOString() ?? null };
}

/** How long refusals and replays are stored. */
const requestDays = 7;

async function describeUnknownId(db: Pool, id: string): Promise<string> {
  const nothing = "No search, refusal, replay, wallet, key or account has this id.";
  const at = new Date(timeOfId(id));
  const age = Date.now() - at.getTime();
  if (id.charAt(14) !== "7" || age < -60_000)
    return `${nothing} No server has made it: check that it was copied completely, from the Request-Id of the response.`;
  const since = await readSearchesSince(db);
  const time = `A server would have made it at ${at.toISOString()}.`;
  if (at < since)
    return `${nothing} ${time} Searches before ${since.toISOString().slice(0, 10)} are archived: look it up in the archive of that day.`;
  const charge = "It was not charged here.";
  if (age > requestDays * 86_400_000)
    return `${nothing} ${time} ${charge} Refusals and replays are stored for ${requestDays} days, so it can be one of these, or have a typing error, or be from another installation.`;
  return `${nothing} ${time} ${charge} It can have a typing error, be from another installation, or have been refused: before its key was known, or beyond the number of refusals that are stored for a key. The log has every request.`;
}
