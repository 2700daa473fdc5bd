// Standard Webhooks (standardwebhooks.com): an HMAC over id, time and the exact bytes of the body.

const toleranceSeconds = 300;

export class WebhookError extends Error {
  override name = "WebhookError";
}

export interface WebhookEvent {
  type: string;
  [member: string]: unknown;
}

/** Header lines as `fetch` or as Node has them. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * The event, if it came from the holder of the secret in the last five minutes; throws a WebhookError otherwise.
 * `payload` is the body as it arrived: parsed and written again, it is not the same.
 */
export async function verifyWebhook(
  payload: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookEvent> {
  const text = typeof payload === "string" ? payload : new TextDecoder().decode(payload);
  const id = readHeader(headers, "webhook-id");
  const timestamp = readHeader(headers, "webhook-timestamp");
  const ageSeconds = Math.abs(Date.now() / 1_000 - Number(timestamp));
  if (!(/^\d+$/.test(timestamp) && ageSeconds <= toleranceSeconds)) {
    throw new WebhookError("The webhook is more than five minutes old or from the future. Check this machine's clock.");
  }
  const key = await crypto.subtle.importKey("raw", decodeSecret(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const signatures = readHeader(headers, "webhook-signature").split(" ");
  // `verify` compares in constant time. There are several signatures while a secret is being replaced.
  const checks = signatures
    .filter((signature) => signature.startsWith("v1,"))
    .map((signature) => decodeBase64(signature.slice(3)) ?? new Uint8Array())
    .map((signature) => crypto.subtle.verify("HMAC", key, signature, signed));
  if (!(await Promise.all(checks)).includes(true)) {
    throw new WebhookError("The webhook's signature is not ours. Check the secret, and pass the body as it arrived.");
  }
  return JSON.parse(text) as WebhookEvent;
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const [, value] =
    Object.entries(headers instanceof Headers ? Object.fromEntries(headers) : headers).find(
      ([key]) => key.toLowerCase() === name,
    ) ?? [];
  if (typeof value !== "string" || value === "") throw new WebhookError(`The header ${name} is missing.`);
  return value;
}

function decodeSecret(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ""));
  if (!bytes || bytes.length < 16) throw new WebhookError("The secret is not one of ours: it begins with whsec_.");
  return bytes;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
