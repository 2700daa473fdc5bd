import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { createSender } from "../../src/webhooks/deliver.ts";
import { type Attempt, sendWebhooks, type WebhookDependencies } from "../../src/webhooks/webhooks.ts";
import { createTestDatabase, type TestDatabase } from "./services/database.ts";
import {
  createTestWallet,
  type Reply,
  startTestServer,
  type TestServer,
  type TestWallet,
  testEnvironment,
} from "./services/server.ts";

/** A server with its database, and the part of the worker that sends, in this process. */
export interface WebhookFixture {
  db: TestDatabase;
  server: TestServer;
  createWallet(balance?: string): Promise<TestWallet>;
  /** One management request. */
  manage(wallet: TestWallet, method: string, path: string, body?: unknown): Promise<Reply>;
  /** An endpoint that is told of these events only. */
  subscribe(wallet: TestWallet, url: string, events?: readonly string[]): Promise<{ id: string; secret: string }>;
  /** Writes an event down, as the payments do. Says its id. */
  emitEvent(wallet: TestWallet, type: string, data?: object): Promise<string>;
  /** Sends all that is due. Says what was tried. */
  send(parts?: Partial<WebhookDependencies>, signal?: AbortSignal): Promise<Attempt[]>;
  /** Lets all that waits for an endpoint come to be due. */
  letTimePass(endpointId: string): Promise<void>;
  deliveriesOf(wallet: TestWallet, endpointId: string): Promise<Reply["body"][]>;
  close(): Promise<void>;
}

export async function createWebhookFixture(settings: Record<string, string> = {}): Promise<WebhookFixture> {
  const db = await createTestDatabase();
  const server = await startTestServer(db, { PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true", ...settings });
  const sender = createSender({ allowPrivate: true });
  const secret = createSecretKey(Buffer.from(testEnvironment(db)["PENNYBLACK_SECRET"] ?? "", "base64"));

  async function manage(wallet: TestWallet, method: string, path: string, body?: unknown): Promise<Reply> {
    const headers = {
      "x-api-key": wallet.management,
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    return server.request(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  }

  return {
    db,
    server,
    manage,
    createWallet: (balance = "0.00") => createTestWallet(db, balance),
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
    async send(parts = {}, signal = new AbortController().signal) {
      const attempts: Attempt[] = [];
      const faults: unknown[] = [];
      const usual: WebhookDependencies = {
        pool: db.owner,
        secret,
        send: sender.send,
        hasEmail: false,
        onAttempt: (attempt) => attempts.push(attempt),
        onFault: (fault) => faults.push(fault),
      };
      await sendWebhooks({ ...usual, ...parts }, signal);
      assert.deepEqual(faults, []);
      return attempts;
    },
    async letTimePass(endpointId) {
      const statement = "update pb.webhook_deliveries set due_at = now() where state = 'pending' and endpoint_id = $1";
      await db.owner.query(statement, [endpointId]);
    },
    async deliveriesOf(wallet, endpointId) {
      const { status, body } = await manage(wallet, "GET", `/v1/webhooks/${endpointId}/deliveries`);
      assert.equal(status, 200);
      return body.deliveries;
    },
    async close() {
      await sender.close();
      await server.close();
      await db.drop();
    },
  };
}
