import { hash, randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import type { TestWallet } from "../../support/services/server.ts";
import type { Seen } from "../journal.ts";
import { type AbortStage, abortEarly, abortStages } from "./abort-early.ts";
import type { CallerLog } from "./caller-log.ts";
import type { Random } from "./random.ts";
import { headersOf, type Question } from "./search-request.ts";

// Callers as they are: some send an Idempotency-Key and try again elsewhere until they have their answer, some do not
// and go on to the next question; some send the same twice at once; some hang up in the middle. A server that just
// failed is left alone for a while and then tried by one, as a balancer would.

export interface CallersOptions {
  log: CallerLog;
  random: Random;
  serverUrls: readonly string[];
  /** Whose turn it is: the rich, who never run dry, and the poor, who do. */
  pickWallet: (random: Random) => TestWallet;
  clients: number;
  /** Called for each line of the log. */
  onSeen: (wallet: TestWallet, seen: Seen) => void;
  /** At most, of all clients together. */
  searchesPerSecond: number;
}

export interface CallerCounts {
  searches: number;
  paid: number;
  statuses: Map<string, number>;
  left: Map<AbortStage, number>;
}

const avoidMs = 1_000;

interface Server {
  index: number;
  url: string;
  pool: Pool;
  avoidUntil: number;
  /** Its last search had no answer. */
  isSilent: boolean;
  inFlight: number;
}

export class Callers {
  readonly counts: CallerCounts = { searches: 0, paid: 0, statuses: new Map(), left: new Map() };
  /** An answer that is not of this API, or a failure that nobody knows. */
  readonly faults: string[] = [];
  readonly #options: CallersOptions;
  readonly #servers: Server[];
  readonly #waitingForPaid = new Set<{ since: number; paid: (ms: number) => void }>();
  readonly #startedAt = performance.now();
  readonly #callers: Promise<void>[];
  #isOn = true;

  constructor(options: CallersOptions) {
    this.#options = options;
    const connections = options.clients;
    this.#servers = options.serverUrls.map((url, index) => ({
      index,
      url,
      pool: new Pool(url, { connections, keepAliveTimeout: 5_000, connectTimeout: 2_000 }),
      avoidUntil: 0,
      isSilent: false,
      inFlight: 0,
    }));
    const recordEnd = (error: unknown): void => void this.faults.push(`a caller gave up: ${String(error)}`);
    this.#callers = Array.from({ length: options.clients }, () => this.#beCaller().catch(recordEnd));
  }

  /** How long until a search sent from now on is paid. */
  timeToPaid(): Promise<number> {
    return new Promise((paid) => {
      this.#waitingForPaid.add({ since: performance.now(), paid });
    });
  }

  /** Ends when every search in flight has. */
  async stop(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#callers);
    await Promise.all(this.#servers.map((server) => server.pool.destroy()));
    await this.#options.log.flush();
  }

  async #beCaller(): Promise<void> {
    const { random, pickWallet } = this.#options;
    while (this.#isOn) {
      await this.#pace();
      const question: Question = { wallet: pickWallet(random), query: randomUUID() };
      if (random.isLucky(0.4)) question.idempotencyKey = randomUUID();
      if (random.isLucky(0.03)) question.run = randomUUID();
      if (random.isLucky(0.03)) await this.#hangUp(question);
      else if (question.idempotencyKey && random.isLucky(0.05))
        await Promise.all([this.#ask(question), this.#ask(question)]);
      else if (!isWorthRetrying(await this.#ask(question))) continue;
      await this.#askAgain(question);
      await wait(20);
    }
  }

  /** Whoever has a key wants the answer; the others go on. */
  async #askAgain(question: Question): Promise<void> {
    for (let attempt = 1; question.idempotencyKey && attempt < 12; attempt += 1) {
      await wait(Math.min(50 * attempt, 1_000));
      if (!this.#isOn || !isWorthRetrying(await this.#ask(question))) return;
    }
  }

  /** Holds everyone back to the rate, so that faults meet a service that is busy and not one that drowns. */
  async #pace(): Promise<void> {
    const due = this.#startedAt + (this.counts.searches / this.#options.searchesPerSecond) * 1_000;
    const early = due - performance.now();
    if (early > 0) await wait(Math.min(early, 500));
  }

  async #ask(question: Question): Promise<Seen> {
    const server = this.#pickServer();
    const sentAt = performance.now();
    server.inFlight += 1;
    const seen = await send(server.pool, question, this.#options.random.pick([4_000, 8_000, 16_000]));
    server.inFlight -= 1;
    this.#note(server, question, seen, sentAt, question.idempotencyKey ? "with a key" : "without a key");
    return seen;
  }

  async #hangUp(question: Question): Promise<void> {
    const { random } = this.#options;
    const server = this.#pickServer();
    const stage = random.pick(abortStages);
    const sentAt = performance.now();
    const seen = await abortEarly(server.url, question, stage, random.integer(0, 40));
    this.counts.left.set(stage, (this.counts.left.get(stage) ?? 0) + 1);
    this.#note(server, question, seen, sentAt, `left ${stage}`);
  }

  #pickServer(): Server {
    const { random } = this.#options;
    const now = performance.now();
    const good = this.#servers.filter(
      (server) => server.avoidUntil < now && (!server.isSilent || server.inFlight === 0),
    );
    if (good.length === 0 || random.isLucky(0.05)) return random.pick(this.#servers);
    // Whoever has fewest to do: one that stands still has no end of it.
    const [one, other] = [random.pick(good), random.pick(good)];
    return one.inFlight <= other.inFlight ? one : other;
  }

  #note(server: Server, { wallet, idempotencyKey }: Question, seen: Seen, sentAt: number, note: string): void {
    const times = { sentAt: performance.timeOrigin + sentAt, endedAt: Date.now() };
    this.#options.log.write({ walletId: wallet.walletId, idempotencyKey, seen, ...times, server: server.index, note });
    this.#options.onSeen(wallet, seen);
    // Who found the door shut has sent nothing.
    if (seen.kind !== "refused") this.counts.searches += 1;
    const what = describe(seen);
    this.counts.statuses.set(what, (this.counts.statuses.get(what) ?? 0) + 1);
    if (seen.kind === "answered" && seen.status === 200 && !seen.isReplayed) this.#notePaid(sentAt);
    // Whoever hung up has learned nothing about the server.
    if (note.startsWith("left")) return;
    server.isSilent = seen.kind !== "answered";
    if (server.isSilent) server.avoidUntil = performance.now() + avoidMs;
  }

  #notePaid(sentAt: number): void {
    this.counts.paid += 1;
    for (const waiter of this.#waitingForPaid) {
      if (sentAt < waiter.since) continue;
      waiter.paid(performance.now() - waiter.since);
      this.#waitingForPaid.delete(waiter);
    }
  }
}

function describe(seen: Seen): string {
  if (seen.kind !== "answered") return seen.kind;
  return `${seen.status} ${seen.code ?? (seen.isReplayed ? "replayed" : "paid")}`;
}

async function send(pool: Pool, question: Question, timeoutMs: number): Promise<Seen> {
  try {
    const response = await pool.request({
      method: "POST",
      path: "/v1/search",
      headers: headersOf(question),
      body: JSON.stringify({ query: question.query }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const text = await response.body.text();
    const { headers, statusCode: status } = response;
    return {
      kind: "answered",
      status,
      code: status === 200 ? undefined : (JSON.parse(text) as { code?: string }).code,
      requestId: String(headers["request-id"] ?? ""),
      charge: String(headers["wallet-charge"] ?? ""),
      isReplayed: headers["idempotent-replayed"] === "true",
      text: hash("sha256", text, "base64").slice(0, 22),
    };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    // Nobody was there to send it to.
    if (code === "ECONNREFUSED" || code === "UND_ERR_CONNECT_TIMEOUT") return { kind: "refused" };
    if (code === "ECONNRESET" || code === "EPIPE" || code.startsWith("UND_ERR")) return { kind: "closed" };
    throw error;
  }
}

function isWorthRetrying(seen: Seen): boolean {
  return seen.kind !== "answered" || seen.status === 409 || seen.status === 429 || seen.status >= 500;
}
