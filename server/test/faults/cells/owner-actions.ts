import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type Micros, parseUsd } from "../../../src/lib/money.ts";
import { signEvent } from "../../support/payments/fake-stripe.ts";
import { webhookSecret } from "../../support/payments/payment-fixture.ts";
import { operatorToken } from "../../support/services/server.ts";
import { type Fleet, type FleetAccount, fail, initialBalance } from "./fleet.ts";

// Changes that owners, operators and the payment processor send while an account is fenced. Each is sent again until it is
// acknowledged, and must be applied once.

export type ActionKind = "credit" | "revocation" | "payment" | "refund" | "dispute";

interface Acknowledged {
  kind: ActionKind;
  walletId: string;
  /** Of the payment, the key, the refund or the dispute. */
  id: string;
}

/** A change that waits for the fence. */
type Prepared = () => Promise<Acknowledged>;

const timeoutMs = 120_000;
/** In cents. */
const amounts: Record<Exclude<ActionKind, "revocation">, number> = {
  credit: 100,
  payment: 500,
  refund: 200,
  dispute: 300,
};
const webhookPath = "/v1/payments/stripe/webhook";

export class OwnerActions {
  readonly acknowledged: Acknowledged[] = [];
  readonly violations: string[] = [];
  readonly #fleet: Fleet;
  readonly #running: Promise<void>[] = [];
  readonly #paid = new Map<string, string>();
  #references = 0;

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** Returns a function that sends the change. */
  async prepare(kind: ActionKind, account: FleetAccount, move: { from: string; to: string }): Promise<() => void> {
    const prepared = await this.#prepare(kind, account, move);
    return () => {
      this.#running.push(this.#send(prepared, `${kind} of wallet ${account.walletId}`));
    };
  }

  async #send(prepared: Prepared, name: string): Promise<void> {
    try {
      this.acknowledged.push(await prepared());
    } catch (error) {
      this.violations.push(`${name}: ${String(error)}`);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** The amounts that the wallet must have received and paid, apart from searches. */
  expected(walletId: string): { credited: Micros; debited: Micros } {
    const own = this.acknowledged.filter((each) => each.walletId === walletId);
    const sum = (kind: keyof typeof amounts): Micros =>
      BigInt(own.filter((each) => each.kind === kind).length * amounts[kind]) * 10_000n;
    return {
      credited: (parseUsd(initialBalance) ?? 0n) + sum("credit") + sum("payment"),
      debited: sum("refund") + sum("dispute"),
    };
  }

  #prepare(kind: ActionKind, account: FleetAccount, move: { from: string; to: string }): Promise<Prepared> {
    switch (kind) {
      case "credit":
        return this.#prepareCredit(account, move);
      case "revocation":
        return this.#prepareRevocation(account);
      case "payment":
        return this.#preparePayment(account);
      default:
        return this.#prepareReversal(kind, account);
    }
  }

  /** The operator does not know where the account is, and tries both cells. */
  async #prepareCredit({ walletId }: FleetAccount, { from, to }: { from: string; to: string }): Promise<Prepared> {
    this.#references += 1;
    const reference = `move-${this.#references}`;
    const body = { amount: usd(amounts.credit), kind: "invoice", reference, reason: "during a move" };
    let attempt = 0;
    return async () => {
      await retry(
        `credit ${reference}`,
        () => {
          attempt += 1;
          const { server } = this.#fleet.cell(attempt % 2 === 1 ? from : to);
          return call(`${server.opsUrl}/operator/wallets/${walletId}/credit`, operatorRequest(body));
        },
        ({ json }) => ["credited", "repeated"].includes(String(json["outcome"])),
      );
      return { kind: "credit", walletId, id: `manual:${reference}` };
    };
  }

  async #prepareRevocation(account: FleetAccount): Promise<Prepared> {
    const { json } = await retry("creation of a key", () =>
      this.#manage(account, "POST", "/v1/keys", { mode: "live", name: "revoked during a move" }),
    );
    const [id, key] = [String(json["id"]), String(json["key"])];
    return async () => {
      await retry(`revocation of key ${id}`, () => this.#manage(account, "DELETE", `/v1/keys/${id}`));
      const { status } = await call(`${this.#fleet.url}/v1/search`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: '{"query":"cats"}',
      });
      if (status === 200) this.violations.push(`key ${id} paid for a search after its revocation`);
      return { kind: "revocation", walletId: account.walletId, id };
    };
  }

  async #preparePayment(account: FleetAccount): Promise<Prepared> {
    const headers = { "idempotency-key": randomUUID() };
    const body = { amount: usd(amounts.payment) };
    const { json } = await retry("creation of a top-up", async () => {
      const reply = await this.#manage(account, "POST", "/v1/wallet/top-ups", body, headers);
      if (reply.json["code"] === "account_suspended") await this.#resume(account);
      return reply;
    });
    const url = String(json["checkout_url"]);
    return async () => {
      const payment = await this.#deliver(() => this.#fleet.stripe.payCheckout(url));
      this.#paid.set(payment.id, account.walletId);
      return { kind: "payment", walletId: account.walletId, id: payment.id };
    };
  }

  /** After a dispute. Only the cell in which the account is can do it. */
  async #resume({ walletId }: FleetAccount): Promise<void> {
    for (const { server } of this.#fleet.cells)
      await call(
        `${server.opsUrl}/operator/wallets/${walletId}/resume`,
        operatorRequest({ reason: "after a dispute" }),
      );
  }

  async #prepareReversal(kind: "refund" | "dispute", account: FleetAccount): Promise<Prepared> {
    const { stripe } = this.#fleet;
    const own = [...this.#paid].find(([, walletId]) => walletId === account.walletId);
    const paymentId = own?.[0] ?? fail("the wallet has no payment");
    this.#paid.delete(paymentId);
    return async () => ({
      kind,
      walletId: account.walletId,
      id: await this.#deliver(() => stripe[kind](paymentId, amounts[kind])),
    });
  }

  /** Each cell has its own endpoint at the payment processor, which sends every event to all of them. */
  async #deliver<Made>(make: () => Made): Promise<Made> {
    const { stripe, cells } = this.#fleet;
    const before = stripe.events.length;
    const made = make();
    for (const event of stripe.events.slice(before))
      for (const { name, server } of cells)
        await retry(`delivery of an event to ${name}`, () =>
          call(server.url + webhookPath, { method: "POST", ...signEvent(event, webhookSecret) }),
        );
    return made;
  }

  #manage(account: FleetAccount, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
    return call(this.#fleet.url + path, {
      method,
      headers: {
        "x-api-key": account.management,
        ...headers,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}

function operatorRequest(body: unknown): RequestInit {
  return {
    method: "POST",
    headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

interface Reply {
  /** 0 if there was no response. */
  status: number;
  json: Record<string, unknown>;
}

async function call(url: string, init: RequestInit): Promise<Reply> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
    return { status: response.status, json: (await response.json().catch(() => ({}))) as Record<string, unknown> };
  } catch {
    return { status: 0, json: {} };
  }
}

/** Calls `attempt` until it returns true. */
async function retry(description: string, attempt: () => Promise<Reply>, isDone = isSuccess): Promise<Reply> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const reply = await attempt();
    if (isDone(reply)) return reply;
    if (performance.now() > deadline) fail(`${description} failed: ${reply.status} ${JSON.stringify(reply.json)}`);
    await wait(100);
  }
}

function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300;
}

function usd(cents: number): string {
  return (cents / 100).toFixed(2);
}
