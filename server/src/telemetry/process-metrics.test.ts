import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { readSamples } from "../../test/support/docs/read-samples.ts";
import { version } from "../lib/version.ts";
import { createMetrics } from "./metrics.ts";

const metrics = createMetrics();
after(() => metrics.close());

/** The values of the series whose name and labels match. */
async function readValues(name: string, label = ""): Promise<number[]> {
  return readSamples(await metrics.render())
    .filter((sample) => sample.name === name && (label === "" || Object.values(sample.labels).includes(label)))
    .map(({ value }) => value);
}

test("a process reports its build, its load and its event loop", async () => {
  const [build] = readSamples(await metrics.render()).filter(({ name }) => name === "target_info");
  assert.deepEqual(build?.labels, {
    service_name: "pennyblack",
    service_version: version,
    process_runtime_version: process.versions.node,
  });
  const [cpu = 0] = await readValues("process_cpu_seconds_total");
  for (let number = 0; process.cpuUsage().user < (cpu + 0.1) * 1e6; number += 1) Math.sqrt(number);
  assert.ok(((await readValues("process_cpu_seconds_total"))[0] ?? 0) > cpu);
  const [startedAt = 0] = await readValues("process_start_time_seconds");
  assert.ok(Math.abs(startedAt - (Date.now() / 1_000 - process.uptime())) < 5);
  const [files = 0, maxFiles = 0] = [
    ...(await readValues("process_open_fds")),
    ...(await readValues("process_max_fds")),
  ];
  assert.ok(files > 2 && files < maxFiles, `${files} of ${maxFiles}`);
  await until("the event loop was sampled", async () => (await readValues("nodejs_eventloop_delay_p99")).length === 1);
  await until("the event loop was busy", async () => {
    const [active = 0] = await readValues("nodejs_eventloop_time_total", "active");
    return active > 0;
  });
});
