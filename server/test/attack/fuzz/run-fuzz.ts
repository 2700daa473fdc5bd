import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { reconcile } from "../../../src/wallet/upkeep/reconcile.ts";
import { checkResponse, describeInput } from "./check-response.ts";
import { measureCosts } from "./cost/measure-costs.ts";
import { watchInputs } from "./cost/watch-inputs.ts";
import { fillIn } from "./fill-in.ts";
import { type FuzzFixture, openFuzzFixture, tenantCount } from "./fuzz-fixture.ts";
import { type Input, inputsOf } from "./inputs.ts";
import { readOperations } from "./operations.ts";
import type { Tenant } from "./tenant.ts";
import { type Exchange, headerOf, openLane, renderInput, sendAlone, type WireAnswer, type WireLane } from "./wire.ts";

// Generates inputs from a seed, sends each to a real server and checks the responses; at the end the ledger must agree
// with them. The seed and a batch number generate the same inputs again.

export interface FuzzOptions {
  inputs: number;
  seed: number;
  /** Only this batch, to reproduce a failure. */
  batch?: number;
  /** Whether to measure the CPU time of inputs as well. */
  hasCosts?: boolean;
  /** Measures the CPU time of the cases whose name matches. */
  case?: RegExp;
  onProgress?: (report: FuzzReport) => void;
}

export interface FuzzReport {
  sent: number;
  failures: Map<string, FuzzFailure>;
  /** The number of responses by route ("GET /v1/keys") and status. */
  statuses: Map<string, Map<number, number>>;
  /** The routes that never returned a success, so that their handlers were not tested. */
  unreached: string[];
  closed: number;
  /** Temporary 503 responses that were retried. */
  retried: number;
  charged: number;
  /** The cases whose CPU time was measured. */
  costCases: number;
  maxMs: number;
  p99Ms: number;
  seconds: number;
}

export interface FuzzFailure {
  description: string;
  times: number;
  /** Reproduces it. */
  command: string;
  response: string;
}

const batchSize = 1_000;
const partSize = 50;
const batchesOfTenants = 15;
const minInputsForAllRoutes = 50_000;
const lanes = 24;
/** The maximum duration of a response. An upstream may take ten seconds. */
const timeoutMs = 20_000;

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const fixture = await openFuzzFixture();
  try {
    const run = new FuzzRun(fixture, options);
    await run.run();
    run.checkRoutes();
    await run.checkLedger();
    // Last, because its searches are not compared with the ledger.
    if (options.hasCosts || options.case) await run.checkCosts();
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
    retried: 0,
    charged: 0,
    costCases: 0,
    maxMs: 0,
    p99Ms: 0,
    seconds: 0,
  };
  readonly #fixture: FuzzFixture;
  readonly #options: FuzzOptions;
  readonly #operations = readOperations();
  readonly #inputs: fc.Arbitrary<Input>;
  /** The number of responses by duration in milliseconds. */
  readonly #times = new Uint32Array(timeoutMs + 2);
  /** Runs in parallel with the inputs. */
  #renewal: Promise<void> | undefined;
  readonly #watch = watchInputs(() => performance.timeOrigin + performance.now());
  readonly #paid = new Set<string>();
  readonly #unpaid = new Set<string>();

  constructor(fixture: FuzzFixture, options: FuzzOptions) {
    this.#fixture = fixture;
    this.#options = options;
    this.#inputs = inputsOf(this.#operations, tenantCount);
  }

  /** Lanes take inputs from one iterator, so that a slow response delays only its own lane. */
  async run(): Promise<void> {
    const startedAt = performance.now();
    const inputs = this.#generate();
    const tick = setInterval(() => this.#reportProgress(startedAt), 1_000);
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        const lane = {
          public: openLane(this.#fixture.addresses.public.port, timeoutMs),
          internal: openLane(this.#fixture.addresses.internal.port, timeoutMs),
        };
        for (const { input, batch } of inputs) {
          if (this.#fixture.hasEnded()) break;
          await this.#send(input, batch, lane[input.operation.listener]);
        }
        lane.public.close();
        lane.internal.close();
      }),
    );
    clearInterval(tick);
    this.#reportProgress(startedAt);
    await this.#renewal;
    if (this.#fixture.hasEnded()) {
      const { seed } = this.#options;
      this.#recordFailure("the server ended", {
        command: `npm run fuzz -- --seed ${seed}`,
        response: this.#fixture.serverOutput(),
      });
    }
  }

  *#generate(): Generator<{ input: Input; batch: number }> {
    const { inputs, seed, batch: only } = this.#options;
    const first = only ?? 0;
    const end = only === undefined ? Math.ceil(inputs / batchSize) : only + 1;
    for (let batch = first; batch < end; batch += 1) {
      if (batch > first && batch % batchesOfTenants === 0) {
        this.#renewal = this.#fixture
          .renewTenants()
          .catch((error: unknown) =>
            this.#recordFailure("tenants could not be created", { command: "", response: String(error) }),
          );
      }
      // In small parts, because generating them blocks the event loop.
      for (let at = batch * batchSize; at < Math.min((batch + 1) * batchSize, inputs); at += partSize) {
        const numRuns = Math.min(partSize, inputs - at);
        const drawn = fc.sample(this.#inputs, { seed: (seed * 1_000_003 + at / partSize) | 0, numRuns });
        for (const input of drawn) yield { input, batch };
      }
    }
  }

  #reportProgress(startedAt: number): void {
    this.#fixture.cpu
      .read()
      .then(({ slowTurns }) => this.#watch.record(slowTurns))
      .catch(() => undefined);
    this.report.seconds = (performance.now() - startedAt) / 1_000;
    this.report.p99Ms = this.#percentile(0.99);
    this.#options.onProgress?.(this.report);
  }

  async #send(generated: Input, batch: number, lane: WireLane): Promise<void> {
    const tenants = this.#fixture.tenants;
    const tenant = tenants[generated.tenant % tenants.length] ?? {};
    const otherTenant = tenants[(generated.tenant + 1) % tenants.length] ?? {};
    const input = fillIn(generated, tenant, otherTenant);
    const bytes = renderInput(input);
    const { port } = this.#fixture.addresses[input.operation.listener];
    const send = async (): Promise<Exchange> => {
      const startedAt = performance.now();
      const exchange = input.mutation
        ? await sendAlone(port, bytes, timeoutMs)
        : await lane.send(bytes, input.method !== "HEAD");
      this.#recordTime(Math.ceil(performance.now() - startedAt));
      return exchange;
    };
    const recordAnswered = this.#watch.start(generated);
    let exchange = await send();
    // On an overloaded machine a statement may time out. The condition must be temporary.
    for (let tries = 0; tries < 3 && isUnavailable(exchange); tries += 1) {
      this.report.retried += 1;
      await wait(1_000);
      exchange = await send();
    }
    recordAnswered();
    this.report.sent += 1;
    this.#recordResponse(input, tenant, exchange);
    const violation = checkResponse(input, exchange);
    if (violation !== undefined) {
      const command = describeInput(generated, renderInput(generated));
      const repeat = `npm run fuzz -- --seed ${this.#options.seed} --batch ${batch}`;
      const response = exchange.kind === "answered" ? exchange.answers.map(formatAnswer).join("\n") : exchange.kind;
      this.#recordFailure(`${input.operation.name}: ${violation}`, { command: `${repeat}\n  ${command}`, response });
    }
  }

  #recordTime(ms: number): void {
    const slot = Math.min(ms, timeoutMs + 1);
    this.#times[slot] = (this.#times[slot] ?? 0) + 1;
    this.report.maxMs = Math.max(this.report.maxMs, ms);
  }

  #percentile(share: number): number {
    let left = this.report.sent * share;
    return this.#times.findIndex((count) => (left -= count) <= 0);
  }

  #recordFailure(description: string, failure: Pick<FuzzFailure, "command" | "response">): void {
    const known = this.report.failures.get(description);
    if (known) known.times += 1;
    else this.report.failures.set(description, { description, times: 1, ...failure });
  }

  /** Counts the responses and saves ids for later inputs. */
  #recordResponse(input: Input, tenant: Tenant, exchange: Exchange): void {
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
    if (!answer || input.mutation) return;
    const counts = this.report.statuses.get(name) ?? new Map<number, number>();
    this.report.statuses.set(name, counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1));
    if (answer.status < 300 && input.operation.listener === "public") saveIds(tenant, path, answer);
  }

  checkRoutes(): void {
    // Inputs have no valid Stripe signature, and no hour is closed that a proof could be of.
    const hasNoSuccess = /^POST \/v1\/payments\/stripe\/webhook$|\/wallet\/proof$/;
    const expected = this.#operations.filter(({ name }) => !hasNoSuccess.test(name));
    const statusesOf = (name: string): number[] => [...(this.report.statuses.get(name)?.keys() ?? [])];
    this.report.unreached = expected
      .filter(({ name }) => !statusesOf(name).some((status) => status < 400))
      .map(({ name }) => name);
    if (this.report.unreached.length === 0 || this.report.sent < minInputsForAllRoutes) return;
    this.#recordFailure("routes without a success", {
      command: "",
      response: this.report.unreached.join(", "),
    });
  }

  async checkCosts(): Promise<void> {
    if (this.#fixture.hasEnded()) return;
    const { slowTurns } = await this.#fixture.cpu.read();
    this.#watch.record(slowTurns);
    const onCase = (): void => {
      this.report.costCases += 1;
      this.#options.onProgress?.(this.report);
    };
    const suspects = this.#watch.suspects();
    const { inputs, case: only = /(?:)/ } = this.#options;
    const isThorough = this.#options.case !== undefined || inputs >= minInputsForAllRoutes;
    for await (const failure of measureCosts(this.#fixture, { timeoutMs, suspects, only, isThorough, onCase }))
      this.#recordFailure(failure.description, failure);
  }

  /** Every charge in the ledger must belong to a 200 with that charge, and to nothing else. */
  async checkLedger(): Promise<void> {
    const { owner } = this.#fixture.db;
    const { rows } = await owner.query<{ id: string }>("select id from pb.transfers where kind = 'capture'");
    this.report.charged = rows.length;
    const unanswered = rows.filter(({ id }) => !this.#paid.has(id));
    const wrong = unanswered.filter(({ id }) => this.#unpaid.has(id));
    const missing = this.#paid.size - (rows.length - unanswered.length);
    const command = `npm run fuzz -- --seed ${this.#options.seed}`;
    if (wrong.length > 0)
      this.#recordFailure("a charge for a response other than 200", { command, response: `${wrong.length}` });
    if (missing > 0)
      this.#recordFailure("a paid 200 without a charge in the ledger", { command, response: `${missing}` });
    if (unanswered.length > this.report.closed) {
      this.#recordFailure("a charge without an answer", {
        command,
        response: `${unanswered.length} of ${this.report.closed} closed`,
      });
    }
    const { isClean, checks } = await reconcile(owner);
    if (!isClean) this.#recordFailure("the ledger does not reconcile", { command, response: JSON.stringify(checks) });
  }
}

function isUnavailable(exchange: Exchange): boolean {
  if (exchange.kind !== "answered") return false;
  return exchange.answers.some(
    ({ status, body }) => status === 503 && /"code":"(?:ledger_unavailable|overloaded)"/.test(body.toString()),
  );
}

function formatAnswer(answer: WireAnswer): string {
  return `${answer.head.split("\r\n", 1)[0]} ${answer.body.toString("utf8", 0, 400)}`;
}

const placeholdersByPath: [RegExp, string][] = [
  [/\/keys/, "keyId"],
  [/\/budgets/, "budgetId"],
  [/deliver/, "deliveryId"],
  [/\/webhooks/, "hookId"],
  [/top-ups/, "topUpId"],
  [/\}\/invitations/, "invitationId"],
];

function isSearch(path: string): boolean {
  return path === "/v1/search" || path.startsWith("/compat/") || path.endsWith("/playground/search");
}

function saveIds(tenant: Tenant, path: string, answer: WireAnswer): void {
  if (isSearch(path)) return saveValue(tenant, "requestId", headerOf(answer, "request-id"));
  const placeholder = placeholdersByPath.find(([pattern]) => pattern.test(path))?.[1];
  const text = answer.body.toString("utf8", 0, 4_000);
  saveValue(tenant, "cursor", /"next_cursor":"([^"]+)"/.exec(text)?.[1]);
  saveValue(tenant, "made", /"key":"(pb_[^"]+)"/.exec(text)?.[1]);
  if (placeholder) saveValue(tenant, placeholder, /"id":"([^"]+)"/.exec(text)?.[1]);
}

function saveValue(tenant: Tenant, placeholder: string, value: string | undefined): void {
  if (value === undefined) return;
  const values = (tenant[placeholder] ??= []);
  values.push(value);
  if (values.length > 8) values.shift();
}
