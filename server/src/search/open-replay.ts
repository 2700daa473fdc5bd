import type { Principal } from "../keys/keys.ts";
import { allowsHost, type SourcePolicy } from "../lib/source-policy.ts";
import { parseWebUrl } from "../lib/web-url.ts";
import { Problem } from "../problems/problems.ts";
import { decodeStoredAnswer, type StoredAnswer } from "./stored-answer.ts";

/**
 * The response to a retry. It is the response of the first attempt, with the source policy that its key had then. Another key of the
 * wallet may have a stricter policy, and receives the answer only if that policy allows every result.
 */
export function openReplay(
  stored: Buffer,
  { keyId, sources }: Pick<Principal, "keyId" | "sources">,
): Omit<StoredAnswer, "keyId"> {
  const { body, keyId: searchedWith, filtered } = decodeStoredAnswer(stored);
  if (sources && searchedWith !== keyId && !allowsAll(sources, body))
    throw new Problem("idempotency_key_reused", {
      detail:
        "Another key of the wallet has used this Idempotency-Key, and its answer has results that `sources` of your key does not allow. You were not charged. Use a new Idempotency-Key for a new search.",
    });
  return { body, filtered };
}

function allowsAll(sources: SourcePolicy, body: Buffer): boolean {
  const { results } = JSON.parse(body.toString()) as { results: { url: string }[] };
  return results.every(({ url }) => allowsHost(sources, parseWebUrl(url)?.hostname ?? ""));
}
