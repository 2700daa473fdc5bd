import assert from "node:assert/strict";
import { test } from "node:test";
import { choosePort } from "../../src/dev/choose-port.ts";
import { createFixture } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { spawnNode } from "../support/services/node-process.ts";
import { testEnvironment } from "../support/services/server.ts";

// A server whose clock differs from the database's.

const { db } = await createFixture();
const token = "0123456789abcdef0123456789abcdef";

/** Readiness, attention and metric of a server with this clock. */
async function observe(aheadSeconds: number) {
  const opsPort = await choosePort({ host: "127.0.0.1" });
  const shift = `const { now } = Date; Date.now = () => now() + ${aheadSeconds * 1_000};`;
  const server = spawnNode(
    "main.ts",
    {
      ...testEnvironment(db),
      HOST: "127.0.0.1",
      PORT: "0",
      PENNYBLACK_OPS_PORT: String(opsPort),
      PENNYBLACK_OPERATORS: `ada:${token}`,
    },
    { nodeOptions: ["--import", `data:text/javascript,${encodeURIComponent(shift)}`] },
  );
  const get = (path: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${opsPort}${path}`, { headers: { authorization: `Bearer ${token}` } });
  await until("the server listens", async () => {
    if (server.process.exitCode !== null) throw new Error(`The server exited: ${server.output()}`);
    return (await get("/livez").catch(() => undefined))?.status === 200;
  });
  const readyz = await get("/readyz");
  const { items } = (await (await get("/operator/attention")).json()) as {
    items: { severity: string; title: string; runbook: string }[];
  };
  const seen = {
    status: readyz.status,
    reason: ((await readyz.json()) as { reason?: string }).reason,
    attention: items.filter(({ runbook }) => runbook.endsWith("clock-offset")),
    metric: Number(/^pennyblack_clock_offset_seconds (\S+)$/m.exec(await (await get("/metrics")).text())?.[1]),
  };
  server.process.kill("SIGKILL");
  await server.ended;
  return seen;
}

test("a server whose clock is wrong by more than a minute is not ready, and operators see it from five seconds on", async () => {
  const slightly = await observe(10);
  assert.equal(slightly.status, 200);
  assert.equal(Math.round(slightly.metric), 10);
  assert.deepEqual(
    slightly.attention.map(({ severity, title }) => `${severity}: ${title.replace(/^.* is /, "is ")}`),
    ["ticket: is 10 s ahead of the database's"],
  );

  for (const ahead of [90, 3 * 86_400]) {
    const { status, reason, attention, metric } = await observe(ahead);
    assert.deepEqual(
      [status, reason, Math.round(metric)],
      [503, `This machine's clock is ${ahead} s ahead of the database's. Correct it.`, ahead],
    );
    assert.deepEqual(
      attention.map(({ severity }) => severity),
      ["page"],
    );
  }
});
