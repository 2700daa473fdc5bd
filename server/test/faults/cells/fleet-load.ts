import { hash, randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { percentile } from "../../../../bench/summarize.ts";
import type { SearchRecord } from "../journal.ts";
import type { Random } from "../random.ts";
import { type Outcome, type SearchRequest, sendSearch } from "../send-search.ts";
import type { FleetAccount } from "./fleet.ts";

// Searches through the edge at a fixed rate, whether or not earlier ones are answered. Every attempt is recorded.

export interface LoadEntry extends SearchRecord {
  account: FleetAccount;
  sentAt: number;
  endedAt: number;
  /** Set if HAProxy answered instead of a server. */
  edgeProblem?: { code: string; charged: boolean };
  /** The limit that was exceeded, if the answer names one. */
  limit?: string;
}

export interface LoadOptions {
  url: string;
  accounts: readonly FleetAccount[];
  searchesPerSecond: number;
  random: Random;
}

/** The deadline of every caller. */
const deadlineMs = 10_000;
const maxInFlight = 500;
const maxAttempts = 12;

export class FleetLoad {
  readonly entries: LoadEntry[] = [];
  /** Responses that are not part of the API. */
  readonly violations: string[] = [];
  readonly #options: LoadOptions;
  readonly #inFlight = new Set<Promise<void>>();
  /** Answered requests with an Idempotency-Key, some of which are sent again. */
  readonly #answered: Sent[] = [];
  readonly #running: Promise<void>;
  #isOn = true;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#running;
    await Promise.all(this.#inFlight);
  }

  async #run(): Promise<void> {
    const { searchesPerSecond } = this.#options;
    const startedAt = performance.now();
    let sent = 0;
    while (this.#isOn) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * searchesPerSecond);
      for (; sent < due; sent += 1) if (this.#inFlight.size < maxInFlight) this.#start();
      await wait(5);
    }
  }

  #start(): void {
    const running = this.#search().catch((error: unknown) => {
      this.violations.push(`a caller failed: ${String(error)}`);
    });
    this.#inFlight.add(running);
    running.finally(() => this.#inFlight.delete(running)).catch(() => undefined);
  }

  async #search(): Promise<void> {
    const { random } = this.#options;
    const again = this.#answered.length > 0 && random.isLucky(0.05) ? random.pick(this.#answered) : undefined;
    const sent = again ?? this.#newRequest();
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const outcome = await this.#send(sent);
      const isFinal = outcome.kind === "answered" && outcome.status < 500 && ![409, 429].includes(outcome.status);
      if (isFinal && outcome.status === 200 && !again && sent.idempotencyKey) this.#remember(sent);
      if (isFinal || sent.idempotencyKey === undefined) return;
      // Clients wait longer with each attempt.
      await wait(500 * attempt);
    }
  }

  #newRequest(): Sent {
    const { random, accounts } = this.#options;
    const account = random.pick(accounts);
    const idempotencyKey = random.isLucky(0.4) ? randomUUID() : undefined;
    return { wallet: account, query: randomUUID(), idempotencyKey };
  }

  #remember(sent: Sent): void {
    if (this.#answered.length < 500) this.#answered.push(sent);
    else this.#answered[this.#options.random.integer(0, 499)] = sent;
  }

  async #send(sent: Sent): Promise<Outcome> {
    const sentAt = performance.now();
    const outcome = await sendSearch(this.#options.url, sent, deadlineMs);
    const { wallet: account, idempotencyKey } = sent;
    const entry = { account, walletId: account.walletId, idempotencyKey, sentAt, endedAt: performance.now() };
    if (outcome.kind !== "answered") this.entries.push({ ...entry, outcome });
    // Only a server sets the request id.
    else if (outcome.requestId === "")
      this.entries.push({ ...entry, outcome: { kind: "refused" }, edgeProblem: readProblem(outcome.text) });
    else {
      // Responses are only compared with each other.
      const text = hash("sha256", outcome.text, "base64").slice(0, 22);
      const { limit } = outcome.status === 200 ? {} : (JSON.parse(outcome.text) as { limit?: string });
      this.entries.push({ ...entry, outcome: { ...outcome, text }, ...(limit !== undefined && { limit }) });
    }
    return outcome;
  }
}

interface Sent extends SearchRequest {
  wallet: FleetAccount;
}

function readProblem(text: string): { code: string; charged: boolean } {
  const { code, charged } = JSON.parse(text) as { code?: string; charged?: boolean };
  return { code: String(code), charged: charged !== false };
}

export function isSuccess({ outcome }: LoadEntry): boolean {
  return outcome.kind === "answered" && outcome.status === 200;
}

function describeEntry({ outcome, edgeProblem, limit, sentAt, endedAt }: LoadEntry): string {
  if (edgeProblem) return `edge: ${edgeProblem.code}`;
  if (outcome.kind === "answered") return [outcome.status, outcome.code, limit].filter(Boolean).join(" ");
  return outcome.kind === "closed" && endedAt - sentAt >= deadlineMs ? "no answer in time" : outcome.kind;
}

/** "503 ledger_unavailable: 3, closed: 1" */
export function countOutcomes(entries: readonly LoadEntry[]): string {
  const counts = Object.entries(Object.groupBy(entries, describeEntry));
  return counts.map(([name, found = []]) => `${name}: ${found.length}`).join(", ") || "none";
}

/** In milliseconds. */
export function latency(entries: readonly LoadEntry[], percent: number): number {
  return percentile(
    entries.filter(isSuccess).map(({ sentAt, endedAt }) => endedAt - sentAt),
    percent,
  );
}
