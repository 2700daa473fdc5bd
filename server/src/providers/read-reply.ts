import type { ParsedReply, Provider, UpstreamReply } from "./provider.ts";
import { readRetryAfter } from "./read-retry-after.ts";

/**
 * Decides what a complete answer is worth. A search is billed on the strength of `ok: true`, so the rules that hold
 * for every upstream are applied here, and an adapter only ever sees a JSON 2xx, a 4xx or a 5xx.
 */
export function readReply(provider: Provider, reply: UpstreamReply, nowMs: number): ParsedReply {
  const { status, headers } = reply;

  if (status >= 200 && status <= 299) {
    return isPlainJson(headers) ? provider.response(reply) : { ok: false, reason: "invalid_response" };
  }

  if (status >= 400 && status <= 599) {
    const parsed = provider.response(reply);
    // Only a 2xx is billed: an adapter cannot turn an error into a success.
    const reason = parsed.ok ? "status" : parsed.reason;
    const askedByBody = parsed.ok ? undefined : parsed.retryAfterSeconds;
    return { ok: false, reason, retryAfterSeconds: askedByBody ?? readRetryAfter(headers["retry-after"], nowMs) };
  }

  // A redirect could carry our credential to another host, so it is never followed. The rest is not HTTP.
  return { ok: false, reason: "invalid_response" };
}

/** We ask for `identity`: a compressed answer would put a bomb behind the limit on its size. */
function isPlainJson(headers: Record<string, string>): boolean {
  const encoding = headers["content-encoding"] ?? "identity";
  const type = headers["content-type"] ?? "";
  return encoding === "identity" && /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type);
}
