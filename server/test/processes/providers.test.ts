import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { adapters } from "../../src/providers/providers.ts";
import { replaceUrl } from "../support/replace-constants.ts";
import { startHostileUpstream } from "../support/upstreams/hostile-upstream.ts";
import { runScript, type ScriptRun } from "./run-script.ts";

const upstream = await startHostileUpstream();
const folder = mkdtempSync(join(tmpdir(), "pennyblack-probe-"));
const key = "secret-provider-key-4711";

after(async () => {
  await upstream.close();
  rmSync(folder, { recursive: true });
});

function providers(environment: Record<string, string>, ...args: string[]): Promise<ScriptRun> {
  return runScript("admin/providers-main.ts", args, { environment });
}

const searxng = { PENNYBLACK_SEARXNG_URL: upstream.url };

test("the list shows every provider, its setting and whether it is enabled", async () => {
  const { exitCode, stdout } = await providers(searxng, "list");
  assert.equal(exitCode, 0);
  for (const { name } of adapters)
    assert.match(stdout, new RegExp(`^ *${name} .*PENNYBLACK_${name.toUpperCase()}_`, "m"));
  assert.match(stdout, /^ *searxng +yes /m);
  assert.match(stdout, /^ *exa +no .* 0\.007 +0\.017 /m);
});

test("a probe runs one live search and shows the results", async () => {
  await upstream.behave("ok");
  const { exitCode, stdout } = await providers(searxng, "probe", "searxng", "--query", "two cats");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^searxng: \d+ ms, status 200, 10 hits\n1\. About https:\/\/example\.org\/page-1\n/);
  assert.equal(upstream.requests.at(-1)?.query.get("q"), "two cats");
  assert.deepEqual(readdirSync(folder), []);
});

test("a failed probe shows the reason in one line without control characters", async () => {
  await upstream.behave("status_429", { headers: { "retry-after": "7" }, body: "\u001B[2JToo Many\u0007" });
  const { exitCode, stdout } = await providers(searxng, "probe", "searxng");
  assert.equal(exitCode, 1);
  assert.match(stdout, /^searxng: \d+ ms, status 429, failed: throttled, retry after 7 s\n \[2JToo Many\n?$/);

  await upstream.behave("refused");
  assert.match((await providers(searxng, "probe", "searxng")).stdout, /status none, failed: unreachable/);
});

test("a saved response is a fixture and does not contain the key", async () => {
  const brave = { ...replaceUrl("brave", upstream.url), PENNYBLACK_BRAVE_KEY: key };
  const headers = { "content-type": "application/json", "set-cookie": `session=${key}`, "x-ratelimit-reset": "1, 60" };
  const error = { code: "SUBSCRIPTION_TOKEN_INVALID", detail: `${key} is not valid` };
  await upstream.behave("status_422", { headers, body: JSON.stringify({ type: "ErrorResponse", error }) });
  const { exitCode, stdout, stderr } = await providers(brave, "probe", "brave", "--save", "--into", folder);
  assert.equal(upstream.requests.at(-1)?.headers["x-subscription-token"], key);
  assert.equal(exitCode, 1);
  assert.match(stdout, /status 422, failed: credential/);

  const saved = readFileSync(join(folder, "bad-credential-recorded.json"), "utf8");
  for (const text of [stdout, stderr, saved]) assert.ok(!text.includes(key) && !text.includes("session"));
  const { recorded_from, recorded_at, ...reply } = JSON.parse(saved);
  assert.match(recorded_from, /^https:\/\/api-dashboard\.search\.brave\.com\//);
  assert.match(recorded_at, /^\d{4}-\d\d-\d\d$/);
  assert.deepEqual(reply, {
    status: 422,
    headers: { "content-type": "application/json", "x-ratelimit-reset": "1, 60" },
    body: { type: "ErrorResponse", error: { ...error, detail: "[removed] is not valid" } },
  });
});

test("invalid arguments exit with 2, a provider that is not configured with 1", async () => {
  for (const args of [["dance"], ["probe"], ["probe", "unknown"], ["list", "--colour"], ["probe", "exa", "you"]]) {
    assert.equal((await providers({}, ...args)).exitCode, 2, args.join(" "));
  }
  const { exitCode, stderr } = await providers({}, "probe", "brave");
  assert.equal(exitCode, 1);
  assert.match(stderr, /PENNYBLACK_BRAVE_KEY/);
});
