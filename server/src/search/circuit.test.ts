import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import type { FailureReason, UpstreamAnswer } from "../providers/provider.ts";
import { metricTable } from "../telemetry/metric-table.ts";
import { createCircuit } from "./circuit.ts";

const ok: UpstreamAnswer = { ok: true, provider: "brave", hits: [], tookMs: 1 };

function failed(reason: FailureReason, retryAfterSeconds?: number): UpstreamAnswer {
  return { ok: false, provider: "brave", reason, retryAfterSeconds, tookMs: 5_000 };
}

function openedBy(...answers: UpstreamAnswer[]) {
  const circuit = createCircuit();
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
  assert.equal(openFor(failed("account_empty", 900)), 900_000);
  assert.equal(openFor(failed("throttled")), 5_000);
  assert.equal(openFor(failed("throttled", 7)), 7_000);
  assert.equal(openFor(failed("throttled", 0)), 1_000);
  assert.equal(openFor(failed("unreachable")), undefined);
});

test("an upstream's Retry-After is limited to one hour", () => {
  assert.equal(openedBy(failed("account_empty", 30 * 24 * 3_600)).openUntilMs(), 3_600_000);
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
  const circuit = openedBy(failed("throttled", 2));
  circuit.startCall(2_000)(shortTimeout, 2_500);
  assert.equal(circuit.isOpen(2_500), false, "the next search tries");
});

test("ignores results of calls started before the circuit opened", () => {
  const circuit = createCircuit();
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
    fc.property(fc.array(event, { maxLength: 50 }), (events) => {
      const circuit = createCircuit();
      let now = 0;
      for (const { reason, retryAfterSeconds, afterMs } of events) {
        const record = circuit.startCall(now);
        now += afterMs;
        record(reason === null ? ok : failed(reason, retryAfterSeconds), now);
        if (reason === null) assert.equal(circuit.isOpen(now), false);
      }
      assert.equal(circuit.isOpen(now + 3_600_000), false);
    }),
  );
});
