import type { Principal } from "../keys/keys.ts";

/** The facts known about a request. search() fills them in, so that they are known no matter how the request ends. */
export interface SearchFacts {
  /** "refusal" until the price is held. "unknown": it is not known whether it was. */
  kind: "refusal" | "replay" | "search" | "unknown";
  /** The owner of the key, even if the key is revoked, expired or not allowed here. */
  caller?: Principal;
  run?: string | undefined;
  /** As it is stored. */
  endUser?: string | undefined;
}
