import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Queryable } from "../../../src/db/pool.ts";
import { signEvent } from "../../support/payments/fake-stripe.ts";
import { webhookSecret } from "../../support/payments/payment-fixture.ts";
import type { TestWallet } from "../../support/services/server.ts";
import type { Random } from "../random.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";

// Simulated owners, who top up, create, change and revoke keys during the faults. Every acknowledged change must be in the
// database at the end; a change without a response may be.

interface OwnedKey {
  id: string;
  key: string;
  wallet: TestWallet;
  isRevoked: boolean;
  /** Whether an owner waits for the response to a change of its limit. The other one could not know which came first. */
  isChanging: boolean;
  /** The last acknowledged limit in cents. */
  limit: number;
  /** Limits sent without a response. A server that was paused can apply them at any time. */
  unanswered: Set<number>;
  /** The maximum it may have spent, in cents. */
  maxLimit: number;
}

export class Owners {
  readonly counts = { topUps: 0, keysCreated: 0, budgetsChanged: 0, keysRevoked: 0, rejectedAfterRevocation: 0 };
  /** Violations found during the run, such as a search paid with a revoked key. */
  readonly violations: string[] = [];
  readonly #cluster: ChaosCluster;
  readonly #random: Random;
  readonly #keys: OwnedKey[] = [];
  readonly #owners: Promise<void>[];
  #isRunning = true;

  constructor(cluster: ChaosCluster, wallets: readonly TestWallet[], random: Random) {
    this.#cluster = cluster;
    this.#random = random;
    const recordError = (error: unknown): void => void this.violations.push(`an owner failed: ${String(error)}`);
    this.#owners = [1, 2].map(() => this.#runOwner(wallets).catch(recordError));
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#owners);
  }

  /** Compares the acknowledged changes with the database. */
  async findLosses(database: Queryable): Promise<string[]> {
    return [...(await findLostKeys(database, this.#keys)), ...(await findLostTopUps(database, this.#cluster))];
  }

  async #runOwner(wallets: readonly TestWallet[]): Promise<void> {
    const random = this.#random;
    while (this.#isRunning) {
      const wallet = random.pick(wallets);
      const active = this.#keys.filter((key) => !key.isRevoked);
      const unchanged = active.filter((key) => !key.isChanging);
      const action = random.integer(0, 9);
      if (action < 2) await this.#topUp(wallet);
      else if (action < 4 || active.length === 0) await this.#createKey(wallet);
      else if (action < 5) await this.#revoke(random.pick(active));
      else if (action < 7 && unchanged.length > 0) await this.#changeBudget(random.pick(unchanged));
      else await search(this.#pickUrl(), random.pick(active));
      await wait(random.integer(20, 200));
    }
  }

  async #topUp(wallet: TestWallet): Promise<void> {
    const { stripe } = this.#cluster;
    const headers = { "idempotency-key": randomUUID() };
    const opened = await retryUntilSuccess(() =>
      this.#manage(wallet, "POST", "/v1/wallet/top-ups", { amount: "5.00" }, headers),
    );
    const before = stripe.events.length;
    stripe.payCheckout(String(opened["checkout_url"]));
    for (const event of stripe.events.slice(before)) {
      await retryUntilSuccess(() =>
        call(`${this.#pickUrl()}/v1/payments/stripe/webhook`, { method: "POST", ...signEvent(event, webhookSecret) }),
      );
    }
    this.counts.topUps += 1;
  }

  async #createKey(wallet: TestWallet): Promise<void> {
    const cents = this.#random.integer(1, 6);
    const options = { mode: "live", name: "chaos", budget: { total: usd(cents) } };
    const { status, body } = await this.#manage(wallet, "POST", "/v1/keys", options);
    if (!isSuccess(status)) return;
    this.counts.keysCreated += 1;
    const [id, key] = [String(body["id"]), String(body["key"])];
    this.#keys.push({
      id,
      key,
      wallet,
      isRevoked: false,
      isChanging: false,
      limit: cents,
      unanswered: new Set(),
      maxLimit: cents,
    });
  }

  async #changeBudget(key: OwnedKey | undefined): Promise<void> {
    if (!key) return;
    const cents = this.#random.integer(1, 12);
    key.maxLimit = Math.max(key.maxLimit, cents);
    key.isChanging = true;
    const { status } = await this.#manage(key.wallet, "PATCH", `/v1/keys/${key.id}`, { budget: { total: usd(cents) } });
    key.isChanging = false;
    if (!isSuccess(status)) return void key.unanswered.add(cents);
    this.counts.budgetsChanged += 1;
    key.limit = cents;
  }

  async #revoke(key: OwnedKey): Promise<void> {
    const { status } = await this.#manage(key.wallet, "DELETE", `/v1/keys/${key.id}`);
    if (!isSuccess(status)) return;
    key.isRevoked = true;
    this.counts.keysRevoked += 1;
    for (const { url, index } of this.#cluster.servers) {
      const { status: searchStatus } = await search(url, key);
      if (searchStatus === 200) this.violations.push(`revoked key ${key.id} paid for a search on server ${index}`);
      if (searchStatus === 401) this.counts.rejectedAfterRevocation += 1;
    }
  }

  #manage(wallet: TestWallet, method: string, path: string, body?: unknown, headers = {}): Promise<Reply> {
    return call(`${this.#pickUrl()}${path}`, {
      method,
      headers: { "x-api-key": wallet.management, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  #pickUrl(): string {
    return this.#random.pick(this.#cluster.servers).url;
  }
}

function search(url: string, { key }: OwnedKey): Promise<Reply> {
  return call(`${url}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ query: randomUUID() }),
  });
}

/** Retries until it succeeds, even after the run was stopped, as a payment processor would. */
async function retryUntilSuccess(attempt: () => Promise<Reply>): Promise<Record<string, unknown>> {
  const deadline = performance.now() + 120_000;
  while (performance.now() < deadline) {
    const { status, body } = await attempt();
    if (isSuccess(status)) return body;
    await wait(100);
  }
  throw new Error("no server accepted a top-up for two minutes");
}

function isSuccess(status: number): boolean {
  return status === 200 || status === 201;
}

async function findLostKeys(database: Queryable, keys: readonly OwnedKey[]): Promise<string[]> {
  const { rows } = await database.query<{ id: string; is_revoked: boolean; cents: string; spent: string }>(
    `select k.id, k.revoked_at is not null as is_revoked, b.amount_micros / 10000 as cents,
       (select count(*) from pb.searches s where s.key_id = k.id and s.state = 'captured') as spent
     from pb.keys k join pb.key_limit_budgets l on l.limits_id = k.limits_id
     join pb.budgets b on b.id = l.budget_id and b.period is null where k.id = any ($1)`,
    [keys.map((key) => key.id)],
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  return keys.flatMap((key) => {
    const row = found.get(key.id);
    if (!row) return [`key ${key.id} was created and does not exist`];
    const violations: string[] = [];
    if (key.isRevoked && !row.is_revoked) violations.push(`key ${key.id} was revoked and is active`);
    const possible = [key.limit, ...key.unanswered];
    if (!possible.includes(Number(row.cents)))
      violations.push(`key ${key.id} has a budget of ${row.cents} cents, not ${possible.join(" or ")}`);
    if (Number(row.spent) > key.maxLimit)
      violations.push(`key ${key.id} spent ${row.spent} cents, more than its maximum ${key.maxLimit}`);
    return violations;
  });
}

/** Every payment of the processor must be credited once. */
async function findLostTopUps(database: Queryable, cluster: ChaosCluster): Promise<string[]> {
  const { rows } = await database.query<{ id: string; cents: string }>(
    `select p.payment_id as id, sum(t.amount_micros) / 10000 as cents
     from pb.payments p join pb.transfers t on t.id = p.transfer_id and t.kind = 'top_up' group by 1`,
  );
  const credited = new Map(rows.map((row) => [row.id, Number(row.cents)]));
  return [...cluster.stripe.payments.values()]
    .filter(({ id, amount }) => credited.get(id) !== amount)
    .map(({ id, amount }) => `payment ${id} of ${amount} cents was credited ${credited.get(id) ?? 0}`);
}

interface Reply {
  /** 0 if there was no response. */
  status: number;
  body: Record<string, unknown>;
}

async function call(url: string, init: RequestInit): Promise<Reply> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(5_000) });
    return { status: response.status, body: (await response.json().catch(() => ({}))) as Record<string, unknown> };
  } catch {
    return { status: 0, body: {} };
  }
}

function usd(cents: number): string {
  return (cents / 100).toFixed(2);
}
