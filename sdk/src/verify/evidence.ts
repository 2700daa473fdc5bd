import type { Entry } from "../responses.ts";

/** What a receipt states about a search or a top-up, at the time of `iat`. */
export interface ReceiptClaims {
  /** The base URL of the server. */
  iss: string;
  /** When it was signed, in seconds since 1970. */
  iat: number;
  jti: string;
  /** The wallet's id. */
  sub: string;
  kind: "search" | "top_up" | (string & {});
  /** The Request-Id of the search, or the id of the top-up. */
  id: string;
  /** The outcome of the search ("ok" if it was charged), or the status of the top-up. */
  status: string;
  /** The amount charged or credited: "0.00" if no money moved. */
  amount: string;
  currency: "usd";
  /** The ledger entries, with microseconds in `created_at`. */
  entries: Entry[];
}

/** The proof that the wallet's entries are part of a signed root. Hashes are in hex. */
export interface WalletProof {
  wallet_id: string;
  /** The last closed hour with entries of the wallet. */
  hour: string;
  /** The wallet has no other entries between this hour and this time. */
  complete_until: string;
  digest: string;
  in_hour: TreePlace;
  /** Null until the day is complete. */
  in_day: TreePlace | null;
}

export interface TreePlace {
  leaf_index: number;
  tree_size: number;
  path: string[];
  /** The signed root: a compact JWS. */
  signed: string;
}
