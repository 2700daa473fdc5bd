import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { verifyWebhook, WebhookError } from "./verify-webhook.ts";

// The example from the Standard Webhooks specification, so the signature was not made by our code.
const secret = "whsec_plJ3nmyCDGBKInavdOK15jsl";
const body = '{"event_type":"ping","data":{"success":true}}';
const sentAtMs = 1_731_705_121_000;
const headers = {
  "webhook-id": "msg_loFOjxBNrRLzqYUf",
  "webhook-timestamp": "1731705121",
  "webhook-signature": "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
};

beforeEach(() => setClock(0));

function setClock(secondsLater: number): void {
  mock.method(Date, "now", () => sentAtMs + secondsLater * 1_000);
}

test("accepts the specification's example with headers in any supported form", async () => {
  for (const form of [
    headers,
    new Headers(headers),
    { "Webhook-Id": headers["webhook-id"], ...headers },
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
  ]) {
    assert.deepEqual(await verifyWebhook(body, form, secret), JSON.parse(body));
  }
});

test("accepts one valid signature among several, as sent during secret rotation", async () => {
  const others = ["v1,AAAA", "v1,not base64!", "v1a,AAAA", `v1,${Buffer.alloc(32).toString("base64")}`];
  const signatures = [...others, headers["webhook-signature"]].join(" ");
  await verifyWebhook(body, { ...headers, "webhook-signature": signatures }, secret);
  await assert.rejects(
    verifyWebhook(body, { ...headers, "webhook-signature": others.join(" ") }, secret),
    WebhookError,
  );
});

test("rejects a wrong body, id, time, secret or version", async () => {
  const otherSecret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
  const forgeries: [string, Record<string, string>, string][] = [
    [body.replace("true", "false"), headers, secret],
    [body, { ...headers, "webhook-id": "msg_other" }, secret],
    [body, { ...headers, "webhook-timestamp": "1731705122" }, secret],
    [body, headers, otherSecret],
    [body, { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "v2,") }, secret],
    [body, { ...headers, "webhook-signature": "" }, secret],
    [body, { "webhook-id": headers["webhook-id"], "webhook-timestamp": headers["webhook-timestamp"] }, secret],
    [body, headers, "whsec_"],
    [body, headers, "pb_mgmt_not_a_webhook_secret"],
  ];
  for (const forgery of forgeries) await assert.rejects(verifyWebhook(...forgery), WebhookError);
});

test("accepts a timestamp up to five minutes off in either direction", async () => {
  for (const seconds of [-300, 300]) {
    setClock(seconds);
    await verifyWebhook(body, headers, secret);
  }
  for (const seconds of [-301, 301]) {
    setClock(seconds);
    await assert.rejects(verifyWebhook(body, headers, secret), /more than five minutes off/);
  }
  setClock(0);
  for (const timestamp of ["NaN", "1731705121.0", "-1", "0x1", " 1731705121"]) {
    await assert.rejects(verifyWebhook(body, { ...headers, "webhook-timestamp": timestamp }, secret), WebhookError);
  }
});
