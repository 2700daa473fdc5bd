import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { signEvent } from "../../support/payments/fake-stripe.ts";
import { webhookSecret } from "../../support/payments/payment-fixture.ts";
import type { TestWallet } from "../../support/services/server.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";
import type { Random } from "./random.ts";

// Owners who change things while all this happens, and remember what they were told was done. What was acknowledged
// must be there at the end; what was not may be.

interface OwnedKey {
  id: string;
  key: string;
  wallet: TestWallet;
  isRevoked: boolean;
  /** What may stand in the books, in cents: what was acknowledged last, and what was asked for since without an answer. */
  limits: Set<number>;
  /** The most it may ever have spent. */
  highestLimit: number;
}

export class Owners {
  readonly counts = { topUps: 0, keysMade: 0, budgetsChanged: 0, keysRevoked: 0, refusedAfterRevocation: 0 };
  /** What was wrong at once: a search that a revoked key paid for. */
  readonly faults: string[] = [];
  readonly #world: ChaosCluster;
  readonly #random: Random;
  readonly #keys: OwnedKey[] = [];
  readonly #owners: Promise<void>[];
  #isOn = true;

  constructor(fixture: ChaosCluster, wallets: readonly TestWallet[], random: Random) {
    this.#world = fixture;
    this.#random = random;
    const recordEnd = (error: unknown): void => void this.faults.push(`an owner gave up: ${String(error)}`);
    this.#owners = [1, 2].map(() => this.#beOwner(wallets).catch(recordEnd));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#owners);
  }

  /** Compares what was acknowledged with the books. */
  async findLosses(client: pg.Client): Promise<string[]> {
    return [...(await findLostKeys(client, this.#keys)), ...(await findLostTopUps(client, this.#world))];
  }

  async #beOwner(wallets: readonly TestWallet[]): Promise<void> {
    const random = this.#random;
    while (this.#isOn) {
      const wallet = random.pick(wallets);
      const living = this.#keys.filter((key) => !key.isRevoked);
      const act = random.integer(0, 9);
      if (act < 2) await this.#topUp(wallet);
      else if (act < 4 || living.length === 0) await this.#makeKey(wallet);
      else if (act < 5) await this.#revoke(random.pick(living));
      else if (act < 7) await this.#changeBudget(random.pick(living));
      else await search(this.#pickUrl(), random.pick(living));
      await wait(random.integer(20, 200));
    }
  }

  async #topUp(wallet: TestWallet): Promise<void> {
    const { stripe } = this.#world;
    const headers = { "idempotency-key": randomUUID() };
    const opened = await untilDone(() =>
      this.#manage(wallet, "POST", "/v1/wallet/top-ups", { amount: "5.00" }, headers),
    );
    const before = stripe.events.length;
    stripe.payCheckout(String(opened["checkout_url"]));
    for (const event of stripe.events.slice(before)) {
      await untilDone(() =>
        call(`${this.#pickUrl()}/v1/payments/stripe/webhook`, { method: "POST", ...signEvent(event, webhookSecret) }),
      );
    }
    this.counts.topUps += 1;
  }

  async #makeKey(wallet: TestWallet): Promise<void> {
    const cents = this.#random.integer(1, 6);
    const wish = { mode: "live", name: "chaos", budget: { total: usd(cents) } };
    const { status, body } = await this.#manage(wallet, "POST", "/v1/keys", wish);
    if (!isDone(status)) return;
    this.counts.keysMade += 1;
    const [id, key] = [String(body["id"]), String(body["key"])];
    this.#keys.push({ id, key, wallet, isRevoked: false, limits: new Set([cents]), highestLimit: cents });
  }

  async #changeBudget(key: OwnedKey): Promise<void> {
    const cents = this.#random.integer(1, 12);
    key.highestLimit = Math.max(key.highestLimit, cents);
    key.limits.add(cents);
    const { status } = await this.#manage(key.wallet, "PATCH", `/v1/keys/${key.id}`, { budget: { total: usd(cents) } });
    if (!isDone(status)) return;
    this.counts.budgetsChanged += 1;
    key.limits = new Set([cents]);
  }

  async #revoke(key: OwnedKey): Promise<void> {
    const { status } = await this.#manage(key.wallet, "DELETE", `/v1/keys/${key.id}`);
    if (!isDone(status)) return;
    key.isRevoked = true;
    this.counts.keysRevoked += 1;
    for (const { url, index } of this.#world.servers) {
      const seen = await search(url, key);
      if (seen.status === 200)
        this.faults.push(`key ${key.id} was revoked, and then paid for a search on server ${index}`);
      if (seen.status === 401) this.counts.refusedAfterRevocation += 1;
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
    return this.#random.pick(this.#world.servers).url;
  }
}

function search(url: string, { key }: OwnedKey): Promise<Reply> {
  return call(`${url}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ query: randomUUID() }),
  });
}

/** Also when the others have gone home: who was told to come again does. */
async function untilDone(attempt: () => Promise<Reply>): Promise<Record<string, unknown>> {
  const deadline = performance.now() + 120_000;
  while (performance.now() < deadline) {
    const { status, body } = await attempt();
    if (isDone(status)) return body;
    await wait(100);
  }
  throw new Error("nobody took a top-up for two minutes");
}

function isDone(status: number): boolean {
  return status === 200 || status === 201;
}

async function findLostKeys(client: pg.Client, keys: readonly OwnedKey[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string; is_revoked: boolean; cents: string; spent: string }>(
    `select k.id, k.revoked_at is not null as is_revoked, b.total_limit_micros / 10000 as cents,
       (select count(*) from pb.searches s where s.key_id = k.id and s.state = 'captured') as spent
     from pb.keys k join pb.key_budgets b on b.id = k.budget_id where k.id = any ($1)`,
    [keys.map((key) => key.id)],
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  return keys.flatMap((key) => {
    const row = found.get(key.id);
    if (!row) return [`key ${key.id} was made, and is gone`];
    const faults: string[] = [];
    if (key.isRevoked && !row.is_revoked) faults.push(`key ${key.id} was revoked, and is not`);
    if (!key.limits.has(Number(row.cents)))
      faults.push(`key ${key.id} has a budget of ${row.cents} cents, not ${[...key.limits].join(" or ")}`);
    if (Number(row.spent) > key.highestLimit)
      faults.push(`key ${key.id} spent ${row.spent} cents of at most ${key.highestLimit}`);
    return faults;
  });
}

/** Every payment that the processor has is credited once. */
async function findLostTopUps(client: pg.Client, fixture: ChaosCluster): Promise<string[]> {
  const { rows } = await client.query<{ id: string; cents: string }>(
    `select p.payment_id as id, sum(t.amount_micros) / 10000 as cents
     from pb.payments p join pb.transfers t on t.id = p.transfer_id and t.kind = 'top_up' group by 1`,
  );
  const credited = new Map(rows.map((row) => [row.id, Number(row.cents)]));
  return [...fixture.stripe.payments.values()]
    .filter(({ id, amount }) => credited.get(id) !== amount)
    .map(({ id, amount }) => `payment ${id} of ${amount} cents was credited ${credited.get(id) ?? 0}`);
}

interface Reply {
  /** 0 if there was none. */
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
