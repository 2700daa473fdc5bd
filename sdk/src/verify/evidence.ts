import type { Entry } from "../api.ts";

/** The contents of a receipt for a search or a top-up, at the time of `iat`. */
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
