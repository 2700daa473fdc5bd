import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, mock, test } from "node:test";
import { verifyWebhook, WebhookError } from "./verify-webhook.ts";

interface Webhook {
  secret: string;
  body: string;
  /** In seconds. */
  now: number;
  /** Null removes a header. */
  headers: Record<string, string | null>;
}

const cases = JSON.parse(readFileSync(new URL("../../../clients/cases.json", import.meta.url), "utf8")) as {
  webhook: Webhook & { headers: Record<string, string> };
  webhooks: (Partial<Webhook> & { name: string; message: string | null })[];
  messages: Record<string, string>;
};
const { webhook, messages } = cases;

beforeEach(() => setClock(webhook.now));

function setClock(seconds: number): void {
  mock.method(Date, "now", () => seconds * 1_000);
}

for (const { name, message, headers, ...changes } of cases.webhooks) {
  test(`${message === null ? "accepts" : "rejects"} ${name}`, async () => {
    const { body, secret, now } = { ...webhook, ...changes };
    setClock(now);
    const sent = Object.entries({ ...webhook.headers, ...headers }).filter(([, value]) => value !== null);
    const verified = verifyWebhook(body, Object.fromEntries(sent) as Record<string, string>, secret);
    if (message === null) assert.deepEqual(await verified, JSON.parse(body));
    else await assert.rejects(verified, new WebhookError(messages[message]));
  });
}

test("accepts the headers and the body in any supported form", async () => {
  const { body, headers, secret } = webhook;
  for (const form of [headers, new Headers(headers)]) {
    for (const payload of [body, new TextEncoder().encode(body)]) {
      assert.deepEqual(await verifyWebhook(payload, form, secret), JSON.parse(body));
    }
  }
});
