import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { buildIndex } from "../../src/dev/searx/build-index.ts";
import { findObstacle } from "../../src/dev/searx/searx-packages.ts";
import { until } from "../support/assertions/until.ts";
import { createTestDatabase, superuserUrl, type TestDatabase } from "../support/services/database.ts";
import { type DevProcess, failDev, isAlive, startDev } from "../support/services/dev-process.ts";

const args = ["--with-searx", "--port", "0", "--ops-port", "0"];
const obstacle = findObstacle();
const skip = obstacle !== undefined && process.env["CI"] !== "true" ? obstacle : false;

let db: TestDatabase;
let environment: Record<string, string>;
const started: DevProcess[] = [];

before(async () => {
  db = await createTestDatabase();
  environment = { DATABASE_URL: Object.assign(new URL(superuserUrl), { pathname: `/${db.name}` }).href };
  if (!skip) await buildIndex();
});

after(async () => {
  for (const dev of started) dev.process.kill("SIGKILL");
  await db.drop();
});

test("the live key searches real documentation, and searx ends with dev, even after SIGKILL", { skip }, async () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const dev = await startDev({ args, environment });
    started.push(dev);
    const pids = dev.descendants();
    assert.ok(pids.some(isSearx), "searx is one of its processes");
    const reply = await fetch(`${dev.ready.url}/v1/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${dev.ready.liveKey}`, "content-type": "application/json" },
      body: JSON.stringify({ query: "advisory locks" }),
    });
    const answer = await reply.text();
    assert.equal(reply.status, 200, answer);
    assert.match(answer, /https:\/\/www\.postgresql\.org\/docs\/15\/explicit-locking\.html/);
    dev.process.kill(signal);
    assert.equal(await dev.ended, signal === "SIGTERM" ? 0 : null, dev.stderr());
    await until("no process is left", () => !pids.some(isAlive));
    assert.deepEqual(dev.leftBehind(), []);
  }
});

function isSearx(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("searx.webapp");
}

test("where searx cannot run, one sentence names the missing packages, and nothing is started", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pb-test-dpkg-"));
  try {
    // Without the check, dev would fail on this database URL instead.
    const unreachable = { DATABASE_URL: "postgres://postgres@127.0.0.1:1/x", PATH: folder };
    const elsewhere = await failDev({ args, environment: unreachable });
    assert.equal(elsewhere.exitCode, 1);
    assert.match(elsewhere.stderr, /^searx is installed from Debian packages, and this is not Debian\.\n$/);

    const installed = "searx installed\nmandoc installed\ngunicorn config-files";
    writeFileSync(join(folder, "dpkg-query"), `#!/bin/sh\necho '${installed}'\nexit 1\n`, { mode: 0o755 });
    const without = await failDev({ args, environment: unreachable });
    assert.equal(without.exitCode, 1);
    assert.match(
      without.stderr,
      /^Debian 12 packages are missing\. Run: apt-get install \S+ gunicorn apache2-doc .*\n$/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("two configured upstreams are an error", async () => {
  const unreachable = {
    DATABASE_URL: "postgres://postgres@127.0.0.1:1/x",
    PENNYBLACK_SEARXNG_URL: "http://127.0.0.1:1",
  };
  const both = await failDev({ args, environment: unreachable });
  assert.equal(both.exitCode, 2, both.stderr);
  assert.match(both.stderr, /Use either --with-searx or PENNYBLACK_SEARXNG_URL, not both\./);
});
