import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";
import { metricTable } from "../telemetry/metric-table.ts";
import { createCircuit, scopeOf } from "./circuit.ts";

const ok: UpstreamAnswer = { ok: true, provider: "brave", hits: [], tookMs: 1 };

function failed(reason: FailureReason, retryAfterSeconds?: number): UpstreamAnswer {
  return { ok: false, provider: "brave", reason, retryAfterSeconds, tookMs: 5_000 };
}

/** The circuit that these failures concern, after calls that end when they start. */
function openedBy(...answers: UpstreamAnswer[]) {
  const failure = answers.find((answer) => !answer.ok);
  const circuit = createCircuit(failure ? scopeOf(failure.reason) : "upstream");
  for (const answer of answers) circuit.startCall(0)(answer, 0);
  return circuit;
}

test("three failures in a row open the circuit for two seconds, and a success resets the count", () => {
  assert.equal(openedBy(failed("unreachable"), failed("timeout")).isOpen(0), false);
  assert.equal(openedBy(failed("status"), failed("status"), ok, failed("status"), failed("status")).isOpen(0), false);
  const circuit = openedBy(failed("unreachable"), failed("timeout"), failed("invalid_response"));
  assert.equal(circuit.isOpen(1_999), true);
  assert.equal(circuit.isOpen(2_000), false);
});

test("the cool-down depends on the reason for the failure", () => {
  const openFor = (answer: UpstreamAnswer) => openedBy(answer).openUntilMs();
  assert.equal(openFor(failed("credential")), 300_000);
  assert.equal(openFor(failed("account_empty")), 300_000);
  // The operator can top up long before the time that the provider names.
  assert.equal(openFor(failed("account_empty", 900)), 300_000);
  assert.equal(openFor(failed("throttled")), 5_000);
  assert.equal(openFor(failed("throttled", 7)), 7_000);
  assert.equal(openFor(failed("throttled", 0)), 1_000);
  assert.equal(openFor(failed("unreachable")), undefined);
});

test("an upstream's Retry-After is limited to one hour", () => {
  assert.equal(openedBy(failed("throttled", 30 * 24 * 3_600)).openUntilMs(), 3_600_000);
});

test("after the cool-down, one search tries the upstream first, and the circuit stays open for others until it answers", () => {
  const circuit = openedBy(failed("throttled", 2));
  assert.equal(circuit.isOpen(2_000), false);
  const recordTrial = circuit.startCall(2_000);
  assert.equal(circuit.isOpen(2_001), true);
  recordTrial(ok, 2_050);
  assert.equal(circuit.isOpen(2_051), false);
  assert.equal(circuit.openUntilMs(), undefined);
});

test("each failed trial doubles the cool-down up to ten seconds, and a success resets it", () => {
  const circuit = openedBy(failed("timeout"), failed("timeout"), failed("timeout"));
  const pauses: number[] = [];
  let now = 2_000;
  for (let trial = 0; trial < 4; trial += 1) {
    circuit.startCall(now)(failed("timeout"), now);
    pauses.push((circuit.openUntilMs() ?? 0) - now);
    now = circuit.openUntilMs() ?? 0;
  }
  assert.deepEqual(pauses, [4_000, 8_000, 10_000, 10_000]);
  circuit.startCall(now)(ok, now);
  for (let count = 0; count < 3; count += 1) circuit.startCall(now)(failed("timeout"), now);
  assert.equal(circuit.openUntilMs(), now + 2_000);
});

test("if the caller of a trial disconnects, the next search tries", () => {
  const circuit = openedBy(failed("throttled", 2));
  circuit.startCall(2_000)(failed("aborted"), 2_100);
  assert.equal(circuit.isOpen(2_100), false);
});

test("a timeout caused by a caller's short deadline does not count", () => {
  const shortTimeout: UpstreamAnswer = { ok: false, provider: "brave", reason: "timeout", tookMs: 500 };
  assert.equal(openedBy(shortTimeout, shortTimeout, shortTimeout, shortTimeout).isOpen(0), false);
  const circuit = openedBy(failed("timeout"), failed("timeout"), failed("timeout"));
  circuit.startCall(2_000)(shortTimeout, 2_500);
  assert.equal(circuit.isOpen(2_500), false, "the next search tries");
});

test("failures of a key do not open the circuit of its upstream, and vice versa", () => {
  for (const reason of ["credential", "account_empty", "throttled", "status", "timeout", "unreachable"] as const) {
    const opened = (["key", "upstream"] as const).filter((scope) => {
      const circuit = createCircuit(scope);
      for (let count = 0; count < 3; count += 1) circuit.startCall(0)(failed(reason), 0);
      return circuit.isOpen(0);
    });
    assert.deepEqual(opened, [scopeOf(reason)], reason);
  }
});

test("a trial that fails for another reason than the circuit's is repeated by the next search", () => {
  const circuit = openedBy(failed("account_empty"));
  circuit.startCall(300_000)(failed("status"), 300_100);
  assert.equal(circuit.isOpen(300_100), false);
  circuit.startCall(300_200)(failed("account_empty"), 300_300);
  assert.equal(circuit.openUntilMs(), 600_300);
});

test("an open circuit blocks calls that are certain to fail, and during their trial", () => {
  for (const failure of [failed("credential"), failed("account_empty"), failed("throttled", 300)]) {
    const circuit = openedBy({ ...failure, tookMs: 40 });
    assert.deepEqual(
      [circuit.isBlocked(0), circuit.isBlocked(299_999), circuit.isBlocked(300_000)],
      [true, true, false],
    );
    const recordTrial = circuit.startCall(300_000);
    assert.equal(circuit.isBlocked(300_001), true);
    recordTrial(ok, 300_100);
    assert.equal(circuit.isBlocked(300_101), false);
  }
  const throttled = openedBy({ ok: false, provider: "brave", reason: "throttled", tookMs: 40 });
  assert.deepEqual([throttled.isOpen(0), throttled.isBlocked(0)], [true, false], "a limit per second may have passed");
});

test("it blocks an upstream whose failures are slow, unless it answered another call in the meantime", () => {
  const slow = failed("timeout");
  const fast: UpstreamAnswer = { ok: false, provider: "brave", reason: "status", upstreamStatus: 422, tookMs: 40 };
  assert.equal(openedBy(fast, fast, fast).isOpen(0), true);
  assert.equal(openedBy(fast, fast, fast).isBlocked(0), false, "a caller's queries can cause these");

  const down = createCircuit("upstream");
  down.startCall(0)(ok, 10);
  const hanging = Array.from({ length: 5 }, () => down.startCall(100));
  for (const record of hanging.slice(0, 3)) record(slow, 5_100);
  assert.equal(down.isBlocked(5_101), true);
  hanging.at(-1)?.(ok, 5_200);
  assert.deepEqual([down.isOpen(5_201), down.isBlocked(5_201)], [true, false], "a late answer ends it");

  const answering = createCircuit("upstream");
  const unlucky = Array.from({ length: 3 }, () => answering.startCall(100));
  answering.startCall(4_000)(ok, 4_200);
  for (const record of unlucky) record(slow, 5_100);
  assert.deepEqual([answering.isOpen(5_101), answering.isBlocked(5_101)], [true, false]);
});

test("ignores results of calls started before the circuit opened", () => {
  const circuit = createCircuit("upstream");
  const early = Array.from({ length: 50 }, () => circuit.startCall(0));
  for (const record of early.slice(0, 3)) record(failed("timeout"), 5_000);
  for (const record of early.slice(3, 40)) record(failed("timeout"), 5_500);
  assert.equal(circuit.openUntilMs(), 7_000);
  early.at(-1)?.(ok, 5_600);
  assert.equal(circuit.openUntilMs(), 7_000);
});

test("an open circuit closes when the upstream answers", () => {
  const circuit = openedBy(failed("credential"));
  circuit.startCall(1_000)(failed("credential"), 1_000);
  assert.equal(circuit.openUntilMs(), 300_000);
  circuit.startCall(2_000)(ok, 2_000);
  assert.equal(circuit.isOpen(2_000), false);
});

test("any sequence of results leaves the circuit closed within an hour", () => {
  const reasons = metricTable.pennyblack_upstream_calls.labels.outcome.filter((outcome) => outcome !== "ok");
  const event = fc.record({
    reason: fc.option(fc.constantFrom(...reasons)),
    retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined }),
    afterMs: fc.integer({ min: 0, max: 100_000 }),
  });
  fc.assert(
    fc.property(fc.constantFrom("key", "upstream"), fc.array(event, { maxLength: 50 }), (scope, events) => {
      const circuit = createCircuit(scope);
      let now = 0;
      for (const { reason, retryAfterSeconds, afterMs } of events) {
        const record = circuit.startCall(now);
        now += afterMs;
        record(reason === null ? ok : failed(reason, retryAfterSeconds), now);
        if (reason === null) assert.equal(circuit.isOpen(now), false);
        assert.ok(circuit.isOpen(now) || !circuit.isBlocked(now));
        assert.equal(circuit.openedBy() === undefined, circuit.openUntilMs() === undefined);
      }
      assert.equal(circuit.isOpen(now + 3_600_000), false);
    }),
  );
});
