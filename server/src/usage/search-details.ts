import type { Pool } from "../db/pool.ts";
import { formatUsd } from "../lib/money.ts";
import { readEntriesOfSearch, readSearch, type SearchView, serializeEntry } from "../wallet/wallet.ts";
import { type RequestView, readRequest } from "./read-requests.ts";

// A search, refusal or replay as the API returns it, to its owner and to operators.

export type SearchLine = ReturnType<typeof serializeItem>;
export type SearchDetails = SearchLine & { entries: ReturnType<typeof serializeEntry>[] };

/** Undefined if the wallet has no search, and no stored refusal or replay, with this Request-Id. */
export async function readSearchDetails(
  pool: Pool,
  walletId: string,
  requestId: string,
): Promise<SearchDetails | undefined> {
  const search = await readSearch(pool, walletId, requestId);
  if (!search) {
    const request = await readRequest(pool, walletId, requestId);
    return request && { ...serializeRequest(request), entries: [] };
  }
  const entries = await readEntriesOfSearch(pool, walletId, requestId);
  return { ...serializeSearch(search), entries: entries.map((entry) => serializeEntry(entry)) };
}

export function serializeItem(item: SearchView | RequestView) {
  return "transport" in item ? serializeRequest(item) : serializeSearch(item);
}

function serializeRequest(request: RequestView) {
  return {
    request_id: request.id,
    kind: request.outcome === "replayed" ? "replayed" : "refused",
    at: request.at.toISOString(),
    mode: request.mode,
    key_id: request.keyId,
    key_name: request.keyName,
    category: null,
    outcome: request.outcome,
    charged: formatUsd(0n),
    ms: null,
    steps: null,
    end_user: request.endUser,
    run: request.run,
    transport: request.transport,
  };
}

function serializeSearch(search: SearchView) {
  return {
    request_id: search.id,
    kind: "search",
    at: search.heldAt.toISOString(),
    mode: search.mode,
    key_id: search.keyId,
    key_name: search.keyName,
    category: search.category,
    outcome: search.outcome,
    charged: formatUsd(search.charged),
    ms: search.ms,
    steps: search.steps,
    end_user: search.endUser,
    run: search.run,
    transport: null,
  };
}
