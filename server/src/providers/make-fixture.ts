import type { Provider, UpstreamAnswer, UpstreamCall, UpstreamReply } from "./provider.ts";

export interface RecordedFixture {
  recorded_from: string;
  recorded_at: string;
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** A live reply as a fixture, without what belongs to the operator: the key, cookies, the ids of a request. */
export function makeFixture(
  { provider, call, recordedAt }: { provider: Provider; call: UpstreamCall; recordedAt: Date },
  { status, headers, body }: UpstreamReply,
): RecordedFixture {
  const hide = hideKeyOf(call);
  const kept = Object.entries(headers).filter(([name]) => telling.test(name));
  return {
    recorded_from: provider.documentation,
    recorded_at: recordedAt.toISOString().slice(0, 10),
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, hide(value)])),
    body: cleanBody(hide(body)),
  };
}

/** The name by which the contract suite knows what a reply must be read as. */
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
      return undefined; // no complete reply came
  }
}

/**
 * Strikes out the key wherever a text holds it or a good part of it, for vendors repeat keys shortened. The key is what
 * the call carries in its headers: nobody else has it.
 */
export function hideKeyOf(call: UpstreamCall): (text: string) => string {
  const parts = new Set(Object.entries(call.headers).flatMap(secretsOf).flatMap(windows));
  return (text) => text.replaceAll(/[\x21-\x7e]+/g, (word) => strikeOut(word, parts));
}

const shortestPart = 6;

function secretsOf([name, value]: [string, string]): string[] {
  if (name === "content-type") return [];
  const [scheme = "", secret = scheme] = value.split(" ");
  return scheme === "Basic" ? [secret, ...Buffer.from(secret, "base64").toString().split(":")] : [secret];
}

function windows(secret: string): string[] {
  if (secret.length <= shortestPart) return secret === "" ? [] : [secret];
  return Array.from({ length: secret.length - shortestPart + 1 }, (_, at) => secret.slice(at, at + shortestPart));
}

/** From the first letter that may be the key's to the last. */
function strikeOut(word: string, parts: ReadonlySet<string>): string {
  const found = [...parts].filter((part) => word.includes(part));
  if (found.length === 0) return word;
  const first = Math.min(...found.map((part) => word.indexOf(part)));
  const last = Math.max(...found.map((part) => word.lastIndexOf(part) + part.length));
  return `${word.slice(0, first)}[removed]${word.slice(last)}`;
}

/** What a reader of answers looks at. All other headers tell of the vendor's machines, or of us. */
const telling = /^(?:content-type|content-encoding|retry-after|www-authenticate|x-ratelimit-[a-z]+)$/;

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
