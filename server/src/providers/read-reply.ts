import type { ParsedReply, Provider, UpstreamReply } from "./provider.ts";
import { readRetryAfter } from "./read-retry-after.ts";

/**
 * Validates a complete response. A search is charged if this returns `ok: true`, so rules common to all upstreams are
 * applied here. An adapter only sees a JSON 2xx, a 4xx or a 5xx.
 */
export function readReply(provider: Provider, reply: UpstreamReply, nowMs: number): ParsedReply {
  const { status, headers } = reply;

  if (status >= 200 && status <= 299) {
    return isPlainJson(headers) ? provider.response(reply) : { ok: false, reason: "invalid_response" };
  }

  if (status >= 400 && status <= 599) {
    const parsed = provider.response(reply);
    // Only a 2xx is charged, regardless of what the adapter returns.
    const reason = parsed.ok ? "status" : parsed.reason;
    const fromBody = parsed.ok ? undefined : parsed.retryAfterSeconds;
    return { ok: false, reason, retryAfterSeconds: fromBody ?? readRetryAfter(headers["retry-after"], nowMs) };
  }

  // Redirects are never followed, because they could send our credential to another host. Other statuses are invalid.
  return { ok: false, reason: "invalid_response" };
}

/** We request `identity`: a compressed response could exceed the size limit when decompressed. */
function isPlainJson(headers: Record<string, string>): boolean {
  const encoding = headers["content-encoding"] ?? "identity";
  const type = headers["content-type"] ?? "";
  return encoding === "identity" && /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type);
}
