// Standard Webhooks (standardwebhooks.com): an HMAC over the id, the timestamp and the raw body.

const toleranceSeconds = 300;

export class WebhookError extends Error {
  override name = "WebhookError";
}

export interface WebhookEvent {
  type: string;
  [member: string]: unknown;
}

/** Headers as `fetch` or Node represents them. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * Returns the event if its signature is valid and its timestamp is within five minutes; throws WebhookError otherwise.
 * `payload` must be the raw body: parsing and re-serializing it changes the bytes.
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
    throw new WebhookError("The webhook timestamp is more than five minutes off. Check this machine's clock.");
  }
  const key = await crypto.subtle.importKey("raw", decodeSecret(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const signedContent = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const signatures = readHeader(headers, "webhook-signature").split(" ");
  // `verify` compares in constant time. During secret rotation a webhook carries several signatures.
  const checks = signatures
    .filter((signature) => signature.startsWith("v1,"))
    .map((signature) => decodeBase64(signature.slice(3)) ?? new Uint8Array())
    .map((signature) => crypto.subtle.verify("HMAC", key, signature, signedContent));
  if (!(await Promise.all(checks)).includes(true)) {
    throw new WebhookError("The webhook signature does not match. Check the secret, and pass the raw request body.");
  }
  return JSON.parse(text) as WebhookEvent;
}

function readHeader(headers: WebhookHeaders, name: string): string {
  const [, value] =
    Object.entries(headers instanceof Headers ? Object.fromEntries(headers) : headers).find(
      ([key]) => key.toLowerCase() === name,
    ) ?? [];
  if (typeof value !== "string" || value === "") throw new WebhookError(`The ${name} header is missing.`);
  return value;
}

function decodeSecret(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ""));
  if (!bytes || bytes.length < 16) throw new WebhookError("The secret is not a webhook secret (whsec_...).");
  return bytes;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
