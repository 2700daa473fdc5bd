import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { reconcile } from "../../../src/wallet/upkeep/reconcile.ts";
import { checkResponse, describeInput } from "./check-response.ts";
import { type FuzzFixture, madeUp, openFuzzFixture, tenantCount } from "./fuzz-fixture.ts";
import { type Input, inputsOf } from "./inputs.ts";
import { readOperations } from "./operations.ts";
import type { Tenant } from "./tenant.ts";
import { type Exchange, headerOf, openLane, renderInput, sendAlone, type WireAnswer, type WireLane } from "./wire.ts";

// Draws inputs from a seed, sends each to a real server and judges what comes back; at the end the books have to agree
// with what was answered. Inputs come in batches: the seed and the number of the batch draw the same ones again.

export interface FuzzOptions {
  inputs: number;
  seed: number;
  /** Only this batch, to look at a failure again. */
  batch?: number;
  onProgress?: (report: FuzzReport) => void;
}

export interface FuzzReport {
  sent: number;
  failures: Map<string, FuzzFailure>;
  /** "GET /v1/keys": how often each status was answered. */
  statuses: Map<string, Map<number, number>>;
  /** The routes that never answered with a success: what lies behind was not tried. */
  unreached: string[];
  closed: number;
  /** Answers that said "later", and were asked again. */
  busy: number;
  charged: number;
  slowestMs: number;
  p99Ms: number;
  seconds: number;
}

export interface FuzzFailure {
  what: string;
  times: number;
  repeat: string;
  seen: string;
}

const batchSize = 1_000;
const partSize = 50;
const batchesOfTenants = 15;
const enoughForAll = 50_000;
const lanes = 24;
/** The longest that anything may take: an upstream has ten seconds. */
const timeoutMs = 20_000;

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const fixture = await openFuzzFixture();
  try {
    const run = new FuzzRun(fixture, options);
    await run.run();
    run.checkReach();
    await run.checkBooks();
    return run.report;
  } finally {
    await fixture.close();
  }
}

class FuzzRun {
  readonly report: FuzzReport = {
    sent: 0,
    failures: new Map(),
    statuses: new Map(),
    unreached: [],
    closed: 0,
    busy: 0,
    charged: 0,
    slowestMs: 0,
    p99Ms: 0,
    seconds: 0,
  };
  readonly #world: FuzzFixture;
  readonly #options: FuzzOptions;
  readonly #operations = readOperations();
  readonly #inputs: fc.Arbitrary<Input>;
  /** How many answers took so many milliseconds. */
  readonly #times = new Uint32Array(timeoutMs + 2);
  /** Goes on beside the inputs. */
  #renewal: Promise<void> | undefined;
  readonly #paid = new Set<string>();
  readonly #unpaid = new Set<string>();

  constructor(fixture: FuzzFixture, options: FuzzOptions) {
    this.#world = fixture;
    this.#options = options;
    this.#inputs = inputsOf(this.#operations, tenantCount);
  }

  /** Lanes draw from one list, so that a slow answer holds up its own lane alone. */
  async run(): Promise<void> {
    const begun = performance.now();
    const drawn = this.#draw();
    const tick = setInterval(() => this.#tellProgress(begun), 1_000);
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        const lane = {
          public: openLane(this.#world.addresses.public.port, timeoutMs),
          internal: openLane(this.#world.addresses.internal.port, timeoutMs),
        };
        for (const { input, batch } of drawn) {
          if (this.#world.hasEnded()) break;
          await this.#send(input, batch, lane[input.operation.listener]);
        }
        lane.public.close();
        lane.internal.close();
      }),
    );
    clearInterval(tick);
    this.#tellProgress(begun);
    await this.#renewal;
    if (this.#world.hasEnded()) {
      const { seed } = this.#options;
      this.#note("the server ended", { repeat: `npm run fuzz -- --seed ${seed}`, seen: this.#world.serverOutput() });
    }
  }

  *#draw(): Generator<{ input: Input; batch: number }> {
    const { inputs, seed, batch: only } = this.#options;
    const first = only ?? 0;
    const end = only === undefined ? Math.ceil(inputs / batchSize) : only + 1;
    for (let batch = first; batch < end; batch += 1) {
      if (batch > first && batch % batchesOfTenants === 0) {
        this.#renewal = this.#world
          .renewTenants()
          .catch((error: unknown) => this.#note("new tenants", { repeat: "", seen: String(error) }));
      }
      // In small parts: while one is drawn, no answer is read.
      for (let at = batch * batchSize; at < Math.min((batch + 1) * batchSize, inputs); at += partSize) {
        const numRuns = Math.min(partSize, inputs - at);
        const drawn = fc.sample(this.#inputs, { seed: (seed * 1_000_003 + at / partSize) | 0, numRuns });
        for (const input of drawn) yield { input, batch };
      }
    }
  }

  #tellProgress(begun: number): void {
    this.report.seconds = (performance.now() - begun) / 1_000;
    this.report.p99Ms = this.#percentile(0.99);
    this.#options.onProgress?.(this.report);
  }

  async #send(drawn: Input, batch: number, lane: WireLane): Promise<void> {
    const tenants = this.#world.tenants;
    const tenant = tenants[drawn.tenant % tenants.length] ?? {};
    const stranger = tenants[(drawn.tenant + 1) % tenants.length] ?? {};
    const input = fillIn(drawn, tenant, stranger);
    const bytes = renderInput(input);
    const { port } = this.#world.addresses[input.operation.listener];
    const once = async (): Promise<Exchange> => {
      const begun = performance.now();
      const exchange = input.spoil
        ? await sendAlone(port, bytes, timeoutMs)
        : await lane.send(bytes, input.method !== "HEAD");
      this.#noteTime(Math.ceil(performance.now() - begun));
      return exchange;
    };
    let exchange = await once();
    // On a machine that is busy with other things, a statement may be late. It must not stay so.
    for (let tries = 0; tries < 3 && isBusy(exchange); tries += 1) {
      this.report.busy += 1;
      await wait(1_000);
      exchange = await once();
    }
    this.report.sent += 1;
    this.#learn(input, tenant, exchange);
    const fault = checkResponse(input, exchange);
    if (fault !== undefined) {
      const command = describeInput(drawn, renderInput(drawn));
      const repeat = `npm run fuzz -- --seed ${this.#options.seed} --batch ${batch}\n  ${command}`;
      const seen = exchange.kind === "answered" ? exchange.answers.map(showAnswer).join("\n") : exchange.kind;
      this.#note(`${input.operation.name}: ${fault}`, { repeat, seen });
    }
  }

  #noteTime(ms: number): void {
    const slot = Math.min(ms, timeoutMs + 1);
    this.#times[slot] = (this.#times[slot] ?? 0) + 1;
    this.report.slowestMs = Math.max(this.report.slowestMs, ms);
  }

  #percentile(share: number): number {
    let left = this.report.sent * share;
    return this.#times.findIndex((count) => (left -= count) <= 0);
  }

  #note(what: string, failure: Pick<FuzzFailure, "repeat" | "seen">): void {
    const known = this.report.failures.get(what);
    if (known) known.times += 1;
    else this.report.failures.set(what, { what, times: 1, ...failure });
  }

  /** Counts what came back, and keeps ids for inputs to come. */
  #learn(input: Input, tenant: Tenant, exchange: Exchange): void {
    if (exchange.kind !== "answered") {
      this.report.closed += 1;
      return;
    }
    const { name, path } = input.operation;
    for (const answer of exchange.answers) {
      const id = headerOf(answer, "request-id") ?? "";
      const isPaid = headerOf(answer, "wallet-charge")?.startsWith("0.01") ?? false;
      if (isPaid) this.#paid.add(id);
      else if (isSearch(path) && answer.status !== 200) this.#unpaid.add(id);
    }
    const [answer] = exchange.answers;
    if (!answer || input.spoil) return;
    const counts = this.report.statuses.get(name) ?? new Map<number, number>();
    this.report.statuses.set(name, counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1));
    if (answer.status < 300 && input.operation.listener === "public") keepIds(tenant, path, answer);
  }

  checkReach(): void {
    // Nothing here is signed as Stripe signs.
    const wanted = this.#operations.filter(({ name }) => name !== "POST /v1/payments/stripe/webhook");
    const statusesOf = (name: string): number[] => [...(this.report.statuses.get(name)?.keys() ?? [])];
    this.report.unreached = wanted
      .filter(({ name }) => !statusesOf(name).some((status) => status < 400))
      .map(({ name }) => name);
    if (this.report.unreached.length === 0 || this.report.sent < enoughForAll) return;
    this.#note("a route never answered with a success", { repeat: "", seen: this.report.unreached.join(", ") });
  }

  /** Every charge in the books was answered with a 200 that says so, and nothing else was charged. */
  async checkBooks(): Promise<void> {
    const { owner } = this.#world.db;
    const { rows } = await owner.query<{ id: string }>("select id from pb.transfers where kind = 'capture'");
    this.report.charged = rows.length;
    const unanswered = rows.filter(({ id }) => !this.#paid.has(id));
    const wrong = unanswered.filter(({ id }) => this.#unpaid.has(id));
    const missing = this.#paid.size - (rows.length - unanswered.length);
    const repeat = `npm run fuzz -- --seed ${this.#options.seed}`;
    if (wrong.length > 0) this.#note("a charge for what was not a 200", { repeat, seen: `${wrong.length}` });
    if (missing > 0) this.#note("a 200 that is not in the books", { repeat, seen: `${missing}` });
    if (unanswered.length > this.report.closed) {
      this.#note("a charge without an answer", {
        repeat,
        seen: `${unanswered.length} of ${this.report.closed} closed`,
      });
    }
    const { isClean, checks } = await reconcile(owner);
    if (!isClean) this.#note("the books are not clean", { repeat, seen: JSON.stringify(checks) });
  }
}

function isBusy(exchange: Exchange): boolean {
  if (exchange.kind !== "answered") return false;
  return exchange.answers.some(
    ({ status, body }) => status === 503 && /"code":"(?:ledger_unavailable|overloaded)"/.test(body.toString()),
  );
}

function showAnswer(answer: WireAnswer): string {
  return `${answer.head.split("\r\n", 1)[0]} ${answer.body.toString("utf8", 0, 400)}`;
}

const wordsByPath: [RegExp, string][] = [
  [/\/keys/, "keyId"],
  [/deliver/, "deliveryId"],
  [/\/webhooks/, "hookId"],
  [/top-ups/, "topUpId"],
  [/\}\/invitations/, "invitationId"],
];

function isSearch(path: string): boolean {
  return path === "/v1/search" || path.endsWith("/playground/search");
}

function keepIds(tenant: Tenant, path: string, answer: WireAnswer): void {
  if (isSearch(path)) return keep(tenant, "requestId", headerOf(answer, "request-id"));
  const word = wordsByPath.find(([pattern]) => pattern.test(path))?.[1];
  const text = answer.body.toString("utf8", 0, 4_000);
  keep(tenant, "cursor", /"next_cursor":"([^"]+)"/.exec(text)?.[1]);
  keep(tenant, "made", /"key":"(pb_[^"]+)"/.exec(text)?.[1]);
  if (word) keep(tenant, word, /"id":"([^"]+)"/.exec(text)?.[1]);
}

function keep(tenant: Tenant, word: string, value: string | undefined): void {
  if (value === undefined) return;
  const values = (tenant[word] ??= []);
  values.push(value);
  if (values.length > 8) values.shift();
}

/** Puts in what the words stand for, and an address that it comes from. */
function fillIn(input: Input, tenant: Tenant, stranger: Tenant): Input {
  const replace = (text: string): string =>
    text.replaceAll(/\{\{(other)?(\w+)\}\}/g, (_whole, other: string | undefined, word: string) => {
      const name = word.charAt(0).toLowerCase() + word.slice(1);
      const values = (other ? stranger : tenant)[name] ?? [];
      if (word.endsWith("Once")) return values.pop() ?? "used-up";
      return values[input.pick % Math.max(1, values.length)] ?? madeUp[name]?.() ?? "nothing-yet";
    });
  const from = `198.18.${Math.floor(Math.random() * 16)}.${Math.floor(Math.random() * 250)}`;
  return {
    ...input,
    target: replace(input.target),
    headers: [
      ...input.headers.map(([name, value]): [string, string] => [name, replace(value)]),
      ["x-forwarded-for", from],
    ],
    body: typeof input.body === "string" ? replace(input.body) : input.body,
  };
}
