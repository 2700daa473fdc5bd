import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { createSender } from "../../src/webhooks/deliver.ts";
import { type Attempt, sendWebhooks, type WebhookDependencies } from "../../src/webhooks/webhooks.ts";
import { createFixture, type Fixture } from "../fixture.ts";
import { closeAfter } from "./close-after.ts";
import { type ManageRequest, type Reply, type TestWallet, testSecrets } from "./services/server.ts";

/** A fixture with the webhook sender of the worker in this process. */
export interface WebhookFixture extends Fixture {
  /** One management request. */
  manage(wallet: TestWallet, ...request: ManageRequest): Promise<Reply>;
  /** Creates an endpoint, for all events unless some are given. */
  subscribe(wallet: TestWallet, url: string, events?: readonly string[]): Promise<{ id: string; secret: string }>;
  /** Emits an event and returns its id. */
  emitEvent(wallet: TestWallet, type: string, data?: object): Promise<string>;
  /** Sends all deliveries that are due and returns the attempts. */
  send(dependencies?: Partial<WebhookDependencies>, signal?: AbortSignal): Promise<Attempt[]>;
  /** Makes all pending deliveries to an endpoint due. */
  makeDue(endpointId: string): Promise<void>;
  deliveriesOf(wallet: TestWallet, endpointId: string): Promise<Reply["body"][]>;
}

export async function createWebhookFixture(
  settings: Record<string, string> = {},
  t?: TestContext,
): Promise<WebhookFixture> {
  const fixture = await createFixture({ PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true", ...settings }, t);
  const { db, server } = fixture;
  const sender = closeAfter(createSender({ allowPrivate: true }), t);
  const manage: WebhookFixture["manage"] = (wallet, ...request) => server.manage(wallet.management, ...request);

  return {
    ...fixture,
    manage,
    async subscribe(wallet, url, events) {
      const { status, body } = await manage(wallet, "POST", "/v1/webhooks", { url, ...(events && { events }) });
      assert.equal(status, 200, JSON.stringify(body));
      return { id: body.id, secret: body.secret };
    },
    async emitEvent(wallet, type, data = {}) {
      const call = "select pb.emit_event($1, $2, $3) as id";
      const { rows } = await db.owner.query<{ id: string }>(call, [wallet.walletId, type, data]);
      return rows[0]?.id ?? assert.fail();
    },
    async send(dependencies = {}, signal = new AbortController().signal) {
      const attempts: Attempt[] = [];
      const faults: unknown[] = [];
      const defaults: WebhookDependencies = {
        pool: db.worker,
        secrets: testSecrets,
        send: sender.send,
        hasEmail: false,
        onAttempt: (attempt) => attempts.push(attempt),
        onFault: (fault) => faults.push(fault),
      };
      await sendWebhooks({ ...defaults, ...dependencies }, signal);
      assert.deepEqual(faults, []);
      return attempts;
    },
    async makeDue(endpointId) {
      const statement = "update pb.webhook_deliveries set due_at = now() where state = 'pending' and endpoint_id = $1";
      await db.owner.query(statement, [endpointId]);
    },
    async deliveriesOf(wallet, endpointId) {
      const { status, body } = await manage(wallet, "GET", `/v1/webhooks/${endpointId}/deliveries`);
      assert.equal(status, 200);
      return body.deliveries;
    },
  };
}
