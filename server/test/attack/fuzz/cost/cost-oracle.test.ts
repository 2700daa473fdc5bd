import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { choosePort } from "../../../../src/dev/choose-port.ts";
import { maxAnswerBytes } from "../../../../src/providers/call-provider.ts";
import { until } from "../../../support/assertions/until.ts";
import type { Input } from "../inputs.ts";
import { readOperations } from "../operations.ts";
import { costCases } from "./cost-cases.ts";
import { type CpuMeter, cpuProbe, openCpuMeter } from "./cpu-meter.ts";
import { findCostlyCases } from "./find-costly-cases.ts";
import { watchInputs } from "./watch-inputs.ts";

const limit = 16_000;

/** Runs a case whose cost in milliseconds depends on the size and on how often it was measured. */
async function measure(
  costOf: (size: number, times: number) => number,
): Promise<{ faults: string[]; measured: number }> {
  let measured = 0;
  const faults: string[] = [];
  const found = findCostlyCases([{ name: "case", limit, build: (size: number) => size }], async (size) => {
    measured += 1;
    return costOf(size, measured) * 1_000;
  });
  for await (const { fault } of found) faults.push(fault);
  return { faults, measured };
}

test("an input that uses more than 20 ms of CPU at any size is reported", async () => {
  const linear = await measure((size) => 1 + (24 * size) / limit);
  assert.deepEqual(linear.faults, ["uses 25.0 ms of CPU, more than 20"]);
  const halfOnly = await measure((size) => (size === limit / 2 ? 21 : 1));
  assert.deepEqual(halfOnly.faults, ["uses 21.0 ms of CPU, more than 20"]);
  assert.deepEqual((await measure((size) => 1 + (18 * size) / limit)).faults, []);
});

test("an input whose cost grows faster than its size is reported", async () => {
  const quadratic = await measure((size) => 2 + 10 * (size / limit) ** 2);
  assert.deepEqual(quadratic.faults, ["grows faster than its size: 0.6, 2.5, 10.0 ms"]);
  // Too little, compared with noise.
  assert.deepEqual((await measure((size) => 2 + 4 * (size / limit) ** 2)).faults, []);
});

test("a measurement that a busy machine made expensive does not count", async () => {
  const { faults, measured } = await measure((_size, times) => (times % 3 === 0 ? 1 : 50));
  assert.deepEqual(faults, []);
  assert.ok(measured > 3);
});

test("a cheap input is sent once per size", async () => {
  assert.equal((await measure(() => 1)).measured, 3);
});

test("the inputs in flight while the event loop was blocked are suspects", () => {
  let now = 0;
  const watch = watchInputs(() => now);
  const [before, during, after] = [{}, {}, {}] as [Input, Input, Input];
  watch.start(before)();
  now = 10;
  const recordAnswered = watch.start(during);
  now = 40;
  recordAnswered();
  watch.start(after);
  watch.record([{ startedAt: 15, endedAt: 35, cpuMicros: 20_001 }]);
  assert.deepEqual(watch.suspects(), [during]);
  assert.equal(watch.suspects()[0], during);
});

test("the probe reports the CPU time of another process and the turns that block its event loop", async () => {
  const port = await choosePort({ host: "127.0.0.1" });
  const block = `process.stdin.on("data", () => {
    const before = process.threadCpuUsage().user;
    while (process.threadCpuUsage().user - before < 50_000);
    process.stdout.write("done");
  })`;
  const child = spawn(process.execPath, [`--import=${cpuProbe}`, "--eval", block], {
    env: { CPU_PROBE_PORT: String(port) },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let meter: CpuMeter | undefined;
  const open = async (): Promise<boolean> => (meter = await openCpuMeter(port).catch(() => undefined)) !== undefined;
  await until("the probe listens", open);
  const { cpuMicros } = (await meter?.read()) ?? { cpuMicros: Infinity };
  child.stdin.write("block");
  await once(child.stdout, "data");
  const after = await meter?.read();
  assert.ok((after?.cpuMicros ?? 0) - cpuMicros >= 50_000);
  assert.ok(after?.slowTurns.some((turn) => turn.cpuMicros >= 50_000));
  meter?.close();
  child.kill();
});

test("every route has cases for its parameters and fields, and no part exceeds the limit of the server", () => {
  const operations = readOperations();
  const cases = [...costCases(operations)];
  const names = cases.map(({ name }) => name);
  for (const { name, query, body } of operations.filter(({ path }) => !path.startsWith("/console/api/wallets/"))) {
    for (const parameter of Object.keys(query))
      assert.ok(
        names.some((each) => each.startsWith(`${name}: the parameter ${parameter} of`)),
        `${name} ${parameter}`,
      );
    for (const field of Object.keys(body?.properties ?? {}))
      assert.ok(
        names.some((each) => each.startsWith(`${name}: the field ${field} of`)),
        `${name} ${field}`,
      );
  }
  for (const each of cases) {
    const input = each.build(each.limit);
    if ("call" in input) continue;
    const { target, headers, body } = input.request;
    const head = target.length + headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
    assert.ok(head < 16_384, `${each.name} ${head}`);
    assert.ok(Buffer.byteLength(body ?? "") <= 16_384, each.name);
    assert.ok(Buffer.byteLength(input.upstreamAnswer ?? "") <= maxAnswerBytes, each.name);
  }
});
