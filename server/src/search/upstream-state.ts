import type { CapReport, CostCaps } from "../limits/cost-caps.ts";
import type { Provider, Upstream, UpstreamAnswer, UpstreamFailure, UpstreamKey } from "../providers/provider.ts";
import { type Circuit, createCircuit } from "./circuit.ts";
import { createUpstreamHealth, type HealthReport, type UpstreamHealth } from "./upstream-health.ts";

/** An upstream with its circuits, as this server knows them. */
export interface UpstreamState {
  name: string;
  /** With the first key. */
  provider: Provider;
  keys: KeyState[];
  health: UpstreamHealth;
  /** None of its keys should be tried before other upstreams. */
  isOpen(nowMs: number): boolean;
  report(nowMs: number): UpstreamReport;
}

export interface KeyState {
  provider: Provider;
  /** The circuit of the key or of the upstream is open. */
  isOpen(nowMs: number): boolean;
  isBlocked(nowMs: number): boolean;
  /** The failure because of which no call is sent, with the time until the next one. */
  blockedBy(nowMs: number): UpstreamFailure | undefined;
  /** Call it when a call is sent, and the function it returns with the result. */
  startCall: Circuit["startCall"];
}

export interface UpstreamReport extends HealthReport {
  name: string;
  documentation: string;
  circuit: CircuitReport;
  cap: CapReport | null;
  /** Those of accounts with a vendor. */
  keys: KeyReport[];
}

interface CircuitReport {
  state: "closed" | "open" | "trial";
  until: string | null;
}

interface KeyReport {
  /** Its first and last four characters. */
  key: string;
  circuit: CircuitReport;
  /** Calls of this server with it, and those that failed, since it was configured. */
  calls: number;
  failures: number;
  last_failure: HealthReport["last_failure"];
}

/** All circuits are closed. */
export function createUpstreamState(
  { name, keys: configured }: Upstream,
  caps: Pick<CostCaps, "reachedFor" | "report">,
  health = createUpstreamHealth(),
): UpstreamState {
  const circuit = createCircuit("upstream");
  const keys = configured.map((key) => createKeyState(key, circuit, health, () => caps.reachedFor(name)));
  const [{ provider }] = configured;

  function reportCircuit(nowMs: number): CircuitReport {
    // Closed as soon as one key can be used.
    const [earliest] = keys.map((key) => key.circuit).toSorted((a, b) => untilOf(a) - untilOf(b));
    const isUpstreamFailing = circuit.openUntilMs() !== undefined || earliest === undefined;
    return describeCircuit(isUpstreamFailing ? circuit : earliest, nowMs);
  }

  return {
    name,
    provider,
    keys,
    health,
    isOpen: (nowMs) => keys.every((key) => key.isOpen(nowMs)),
    report: (nowMs) => ({
      name,
      documentation: provider.documentation,
      circuit: reportCircuit(nowMs),
      cap: caps.report(name) ?? null,
      keys: keys.flatMap((key) => key.report(nowMs) ?? []),
      ...health.report(nowMs),
    }),
  };
}

interface OwnKeyState extends KeyState {
  circuit: Circuit;
  /** Undefined if it is not the key of an account with a vendor. */
  report(nowMs: number): KeyReport | undefined;
}

function createKeyState(
  { label, provider }: UpstreamKey,
  ofUpstream: Circuit,
  health: UpstreamHealth,
  cappedFor: () => number | undefined,
): OwnKeyState {
  const circuit = createCircuit("key");
  const circuits = [ofUpstream, circuit];
  let calls = 0;
  let failures = 0;
  let lastFailure: HealthReport["last_failure"] = null;

  function recordAnswer(answer: UpstreamAnswer, nowMs: number): void {
    health.recordCall(answer, nowMs);
    if (!answer.ok && answer.reason === "aborted") return;
    calls += 1;
    if (answer.ok) return;
    failures += 1;
    const { reason, upstreamStatus } = answer;
    lastFailure = { reason, upstream_status: upstreamStatus ?? null, at: new Date(nowMs).toISOString() };
  }

  return {
    provider,
    circuit,
    isOpen: (nowMs) => circuits.some((each) => each.isOpen(nowMs)),
    isBlocked: (nowMs) => cappedFor() !== undefined || circuits.some((each) => each.isBlocked(nowMs)),
    blockedBy(nowMs) {
      const cappedSeconds = cappedFor();
      if (cappedSeconds !== undefined) return capped(provider.name, cappedSeconds);
      const [last] = circuits.filter((each) => each.isBlocked(nowMs)).toSorted((a, b) => untilOf(b) - untilOf(a));
      const failure = last?.openedBy();
      const seconds = last && Math.ceil((untilOf(last) - nowMs) / 1_000);
      return failure && { ...failure, blockedBy: "circuit", isDeadline: false, retryAfterSeconds: seconds, tookMs: 0 };
    },
    startCall(startedAtMs) {
      const records = circuits.map((each) => each.startCall(startedAtMs));
      return (answer, nowMs) => {
        for (const record of records) record(answer, nowMs);
        recordAnswer(answer, nowMs);
      };
    },
    report: (nowMs) =>
      label === undefined
        ? undefined
        : { key: label, circuit: describeCircuit(circuit, nowMs), calls, failures, last_failure: lastFailure },
  };
}

/** To callers, the same as an account without credit, because it ends only by an action of the operator or with the period. */
function capped(provider: string, retryAfterSeconds: number): UpstreamFailure {
  return { ok: false, provider, reason: "account_empty", blockedBy: "cap", retryAfterSeconds, tookMs: 0 };
}

/** The end of the cool-down; the past if it is closed. */
function untilOf(circuit: Circuit): number {
  return circuit.openUntilMs() ?? -Infinity;
}

function describeCircuit(circuit: Circuit, nowMs: number): CircuitReport {
  const until = circuit.openUntilMs();
  if (until === undefined) return { state: "closed", until: null };
  return { state: circuit.isOpen(nowMs) ? "open" : "trial", until: new Date(until).toISOString() };
}
