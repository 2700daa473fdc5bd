import type { Provider, UpstreamAnswer, UpstreamCall, UpstreamReply } from "./provider.ts";

export interface RecordedFixture {
  recorded_from: string;
  recorded_at: string;
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Converts a live reply to a fixture without the operator's key, cookies and request ids. */
export function makeFixture(
  { provider, call, recordedAt }: { provider: Provider; call: UpstreamCall; recordedAt: Date },
  { status, headers, body }: UpstreamReply,
): RecordedFixture {
  const redactKey = createRedactor(call);
  const kept = Object.entries(headers).filter(([name]) => keptHeaders.test(name));
  return {
    recorded_from: provider.documentation,
    recorded_at: recordedAt.toISOString().slice(0, 10),
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, redactKey(value)])),
    body: cleanBody(redactKey(body)),
  };
}

/** The fixture name, from which contract.test.ts derives the expected result. */
export function nameFixture(answer: UpstreamAnswer): string | undefined {
  if (answer.ok) return answer.hits.length > 0 ? "ok-recorded" : "empty-recorded";
  switch (answer.reason) {
    case "credential":
      return "bad-credential-recorded";
    case "account_empty":
      return "empty-account-recorded";
    case "throttled":
      return "throttled-recorded";
    case "status":
      return "refused-recorded";
    case "invalid_response":
      return "invalid-recorded";
    case "timeout":
    case "unreachable":
    case "aborted":
      return undefined; // no complete reply
  }
}

/**
 * Returns a function that redacts the key, and any eight consecutive characters of it, because vendors repeat keys in
 * shortened form. The key is taken from the headers of the call.
 */
export function createRedactor(call: UpstreamCall): (text: string) => string {
  const secrets = Object.entries(call.headers).flatMap(secretsOf);
  return (text) => secrets.reduce(redact, text);
}

function secretsOf([name, value]: [string, string]): string[] {
  if (name === "content-type") return [];
  const [scheme = "", secret = scheme] = value.split(" ");
  if (scheme !== "Basic") return [secret];
  return [secret, Buffer.from(secret, "base64").toString().replace(/^.*?:/, "")];
}

function redact(text: string, secret: string): string {
  const length = Math.min(8, secret.length);
  if (length === 0) return text;
  const parts = new Set(Array.from({ length: secret.length - length + 1 }, (_, at) => secret.slice(at, at + length)));

  let result = "";
  let copiedTo = 0;
  for (let at = 0; at <= text.length - length; at += 1) {
    if (!parts.has(text.slice(at, at + length))) continue;
    // Merge overlapping matches.
    if (at > copiedTo || result === "") result += `${text.slice(copiedTo, at)}[removed]`;
    copiedTo = at + length;
  }
  return result + text.slice(copiedTo);
}

/** Headers that adapters read. Others describe the vendor's infrastructure or identify us. */
const keptHeaders = /^(?:content-type|content-encoding|retry-after|www-authenticate|x-ratelimit-[a-z]+)$/;

function cleanBody(body: string): unknown {
  try {
    return JSON.parse(body, (name, value: unknown) => (isRequestId(name, value) ? "removed" : value));
  } catch {
    return body;
  }
}

function isRequestId(name: string, value: unknown): boolean {
  if (typeof value !== "string") return false;
  return (
    /(?:request|trace|search|session)_?(?:id|uuid)$/i.test(name) || /^(?:[0-9a-f]{32}|[0-9a-f-]{36})$/i.test(value)
  );
}
