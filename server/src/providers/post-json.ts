import type { UpstreamCall } from "./provider.ts";

export function postJson(url: string, headers: Record<string, string>, body: object): UpstreamCall {
  return {
    method: "POST",
    url,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}
