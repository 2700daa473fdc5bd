import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { TestWallet } from "../support/services/server.ts";
import { type AbortStage, abortEarly, abortStages } from "./abort-early.ts";
import type { Journal } from "./journal.ts";
import type { Random } from "./random.ts";
import type { Outcome, SearchRequest } from "./send-search.ts";

// Simulated callers. Some send an Idempotency-Key and retry on any server; the others continue with another search. Some
// send the same request twice at the same time; some disconnect early. A server that did not answer is avoided for a
// second and then tried by one caller, as a load balancer would do.

export interface CallersOptions {
  journal: Journal;
  random: Random;
  serverUrls: readonly string[];
  pickWallet: (random: Random) => TestWallet;
  clients: number;
  /** The maximum of all clients together. */
  searchesPerSecond?: number;
  /** Client timeouts, one of which is picked for each request. By default a server that does not respond is an error. */
  timeoutsMs?: readonly number[];
}

const avoidMs = 1_000;

interface Server {
  url: string;
  avoidUntil: number;
  /** Its last search was not answered. */
  isSilent: boolean;
  inFlight: number;
}

export class Callers {
  readonly counts = {
    searches: 0,
    paid: 0,
    statuses: new Map<string, number>(),
    disconnects: new Map<AbortStage, number>(),
  };
  /** Responses that are not part of the API, and errors that are not connection failures. */
  readonly violations: string[] = [];
  readonly #options: CallersOptions;
  readonly #servers: Server[];
  readonly #unfinished: SearchRequest[] = [];
  readonly #waitingForPaid = new Set<{ since: number; paid: (ms: number) => void }>();
  readonly #startedAt = performance.now();
  readonly #callers: Promise<void>[];
  #isRunning = true;

  constructor(options: CallersOptions) {
    this.#options = options;
    this.#servers = options.serverUrls.map((url) => ({ url, avoidUntil: 0, isSilent: false, inFlight: 0 }));
    const recordError = (error: unknown): void => void this.violations.push(`a caller failed: ${String(error)}`);
    this.#callers = Array.from({ length: options.clients }, () => this.#runCaller().catch(recordError));
  }

  /** Milliseconds until a search sent after this call is paid. */
  timeToPaid(): Promise<number> {
    return new Promise((paid) => {
      this.#waitingForPaid.add({ since: performance.now(), paid });
    });
  }

  /** Waits for the searches in flight. Returns the requests with an Idempotency-Key that still need a retry. */
  async stop(): Promise<SearchRequest[]> {
    this.#isRunning = false;
    await Promise.all(this.#callers);
    return this.#unfinished;
  }

  async #runCaller(): Promise<void> {
    const { random, pickWallet } = this.#options;
    while (this.#isRunning) {
      await this.#pace();
      const request: SearchRequest = { wallet: pickWallet(random), query: randomUUID() };
      if (random.isLucky(0.4)) request.idempotencyKey = randomUUID();
      if (random.isLucky(0.03)) request.run = randomUUID();
      let outcome: Outcome | undefined;
      if (random.isLucky(0.03)) await this.#disconnect(request);
      else if (request.idempotencyKey && random.isLucky(0.05))
        await Promise.all([this.#send(request), this.#send(request)]);
      else outcome = await this.#send(request);
      await this.#retry(request, outcome);
    }
  }

  /** Retries up to twelve times while there is no final answer. Without an Idempotency-Key a caller waits and gives up. */
  async #retry(request: SearchRequest, first: Outcome | undefined): Promise<void> {
    let outcome = first;
    for (let attempt = 1; outcome === undefined || isRetryable(outcome); attempt += 1) {
      await wait(Math.min(20 * attempt, 500));
      if (request.idempotencyKey === undefined) return;
      if (!this.#isRunning || attempt > 12) return void this.#unfinished.push(request);
      outcome = await this.#send(request);
    }
  }

  /** Limits the rate, so that faults meet a busy service instead of an overloaded one. */
  async #pace(): Promise<void> {
    const { searchesPerSecond = Number.POSITIVE_INFINITY } = this.#options;
    const early = this.#startedAt + (this.counts.searches / searchesPerSecond) * 1_000 - performance.now();
    if (early > 0) await wait(Math.min(early, 500));
  }

  async #send(request: SearchRequest): Promise<Outcome> {
    const { journal, random, timeoutsMs } = this.#options;
    const server = this.#pickServer();
    const sentAt = performance.now();
    server.inFlight += 1;
    const outcome = await journal.search(server.url, request, timeoutsMs && random.pick(timeoutsMs));
    server.inFlight -= 1;
    this.#count(outcome, sentAt);
    server.isSilent = outcome.kind !== "answered";
    if (server.isSilent) server.avoidUntil = performance.now() + avoidMs;
    return outcome;
  }

  async #disconnect(request: SearchRequest): Promise<void> {
    const { journal, random } = this.#options;
    const { url: serverUrl } = this.#pickServer();
    const stage = random.pick(abortStages);
    const sentAt = Date.now();
    const outcome = await abortEarly(serverUrl, request, { stage, delayMs: random.integer(0, 40) });
    journal.record({ serverUrl, request, outcome, sentAt, disconnected: stage });
    increment(this.counts.disconnects, stage);
    this.#count(outcome, performance.now());
  }

  #pickServer(): Server {
    const { random } = this.#options;
    const now = performance.now();
    const good = this.#servers.filter(
      (server) => server.avoidUntil < now && (!server.isSilent || server.inFlight === 0),
    );
    if (good.length === 0 || random.isLucky(0.05)) return random.pick(this.#servers);
    // The one with fewer requests in flight: on a paused server they only accumulate.
    const [one, other] = [random.pick(good), random.pick(good)];
    return one.inFlight <= other.inFlight ? one : other;
  }

  #count(outcome: Outcome, sentAt: number): void {
    if (outcome.kind !== "refused") this.counts.searches += 1;
    increment(this.counts.statuses, describeOutcome(outcome));
    if (outcome.kind !== "answered" || outcome.status !== 200 || outcome.isReplayed) return;
    this.counts.paid += 1;
    for (const waiter of this.#waitingForPaid) {
      if (sentAt < waiter.since) continue;
      waiter.paid(performance.now() - waiter.since);
      this.#waitingForPaid.delete(waiter);
    }
  }
}

export function describeOutcome(outcome: Outcome): string {
  if (outcome.kind !== "answered") return outcome.kind;
  return `${outcome.status} ${outcome.code ?? (outcome.isReplayed ? "replayed" : "paid")}`;
}

function increment<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function isRetryable(outcome: Outcome): boolean {
  return outcome.kind !== "answered" || outcome.status === 409 || outcome.status === 429 || outcome.status >= 500;
}
