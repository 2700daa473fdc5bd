import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { createCli } from "../../server/test/support/clients/run-cli.ts";
import { listen } from "../../server/test/support/services/listen.ts";

// Runs commands against canned responses. cli.test.ts runs the packed CLI against the real server.

const uuid = "019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10";
const at = "2026-11-16T17:20:01.123Z";
const day = { limit: "1.00", spent: "0.12", resets_at: "2026-11-17T00:00:00Z" };
const key = {
  id: uuid,
  mode: "live",
  name: "batch",
  start: "pb_live_ab",
  state: "active",
  scopes: ["search"],
  allowed_ips: null,
  searches_per_second: 1000,
  searches_in_flight: 1000,
  budget: { total: null, day, month: null },
  expires_at: null,
  revoked_at: null,
  revoked_reason: null,
  rotated_from: null,
  last_used_at: null,
  created_at: at,
  created_by: { type: "person", id: uuid, name: "ada@example.com" },
};
const twin = { ...key, id: "k-2", name: "twin", start: "pb_live_cd" };
const keys = [
  key,
  { ...key, id: "k-1", state: "expired" },
  twin,
  { ...twin, id: "k-3" },
  { ...twin, id: "k-4", name: "k-2" },
];
const entry = { id: "e-1", kind: "search", amount: "-0.01", currency: "usd", request_id: uuid, created_at: at };
const run = { run: "nightly", spent: "0.02", limit: "0.50", searches: 2, first_at: at, expires_at: at };
const search = {
  request_id: uuid,
  kind: "search",
  at,
  mode: "live",
  key_id: uuid,
  key_name: "batch",
  outcome: "upstream_timeout",
  charged: "0.00",
  ms: 9_004,
  run: null,
};
const refused = { ...search, kind: "refused", outcome: "run_budget_spent", ms: null, run: "nightly" };
const unlisted = { since: at, count: 1_204, at_least: true };
const webhook = {
  id: "w-1",
  url: "https://a.example/hook",
  description: "ops",
  events: ["key.created"],
  enabled: false,
  disabled_reason: "gone",
  failing_since: null,
  previous_secret_until: null,
  created_at: at,
};
const event = { id: "v-1", type: "webhook.test", created_at: at };
const delivery = {
  id: "d-1",
  endpoint_id: "w-1",
  event,
  status: "pending",
  attempts: 2,
  response_status: 503,
  error: "status",
  last_attempt_at: at,
  next_attempt_at: at,
  created_at: at,
};
const inspection = {
  lens: "research@2026-11-15.1",
  host: "listed.example",
  tier: "D",
  reason: "listed-as-satire",
  rule: null,
  registry: { name: "a-list", title: "A list", source: "https://lists.example/", retrieved: "2026-11-16" },
  objection_url: "https://pennyblack.example/docs/ranking#objections",
};
const limits = { searches_per_second: 20, searches_in_flight: 20 };
const alerts = { email: "ops@example.com", low_balance: null };
const responses: Record<string, unknown> = {
  "GET /v1/key": { ...key, effective_limits: { searches_per_second: 1000, searches_in_flight: 1000 } },
  "GET /v1/wallet/alerts": alerts,
  "PUT /v1/wallet/alerts": alerts,
  "GET /v1/keys": { keys, next_cursor: null },
  [`GET /v1/keys/${uuid}`]: key,
  [`PATCH /v1/keys/${uuid}`]: key,
  "GET /v1/wallet/entries?limit=2": { entries: [entry], next_cursor: "c" },
  "GET /v1/wallet/entries?limit=2&cursor=c": { entries: [entry, entry], next_cursor: "d" },
  [`GET /v1/wallet/entries?request_id=${uuid}&from=2026-11-01&to=2026-11-30&kind=search&limit=30`]: {
    entries: [],
    next_cursor: null,
  },
  "GET /v1/runs?limit=30": { runs: [run], next_cursor: null },
  "GET /v1/searches?kind=search&limit=30": { searches: [search], unlisted: null, next_cursor: null },
  [`GET /v1/searches?kind=all&outcome=failed&key_id=${uuid}&for=ada&mode=live&category=gov&run=nightly&from=2026-11-01&to=2026-11-30&limit=2`]:
    { searches: [search], unlisted, next_cursor: "c" },
  [`GET /v1/searches?kind=all&outcome=failed&key_id=${uuid}&for=ada&mode=live&category=gov&run=nightly&from=2026-11-01&to=2026-11-30&limit=2&cursor=c`]:
    { searches: [refused, search], unlisted, next_cursor: "d" },
  "GET /v1/searches?kind=refused&limit=30": { searches: [], unlisted: { ...unlisted, count: 0 }, next_cursor: null },
  "GET /v1/webhooks": { endpoints: [webhook] },
  "POST /v1/webhooks": { ...webhook, secret: "whsec_made" },
  "PATCH /v1/webhooks/w-1": { ...webhook, enabled: true },
  "DELETE /v1/webhooks/w-1": { id: "w-1", deleted: true },
  "POST /v1/webhooks/w-1/rotate-secret": { id: "w-1", secret: "whsec_new", previous_secret_until: at },
  "POST /v1/webhooks/w-1/test": delivery,
  "GET /v1/webhooks/w-1/deliveries?limit=30": { deliveries: [delivery], next_cursor: null },
  "POST /v1/webhooks/deliveries/d-1/replay": delivery,
  "GET /v1/lenses/research/inspect?url=listed.example": inspection,
};

const calls: string[] = [];
/** The next response of any route is a 503. */
let isOverloaded = false;
const overloaded = { code: "overloaded", detail: "The server is at capacity.", retryable: true };
const server = createServer((request, response) => {
  text(request).then(
    (body) => {
      const route = `${request.method} ${request.url}`;
      calls.push(`${route} ${body}`.trim());
      if (isOverloaded) {
        isOverloaded = false;
        response.writeHead(503).end(JSON.stringify(overloaded));
        return;
      }
      response.statusCode = route in responses ? 200 : 404;
      response.end(JSON.stringify(responses[route] ?? { code: "not_found", detail: `No ${route}.` }));
    },
    () => response.destroy(),
  );
});
const { url, close } = await listen(server);
const cli = createCli();
const env = { PENNYBLACK_URL: url, PENNYBLACK_API_KEY: "pb_live_secret", PENNYBLACK_MANAGEMENT_KEY: "pb_mgmt_secret" };

after(async () => {
  await close();
  cli.remove();
});

/** Runs a command that must succeed. */
async function succeed(...args: string[]) {
  const result = await cli.run(args, env);
  assert.equal(result.code, 0, result.err);
  assert.ok(!/pb_(?:live|mgmt)_secret/.test(result.out + result.err));
  return result;
}

const shared = JSON.parse(readFileSync(new URL("../../clients/cases.json", import.meta.url), "utf8")) as {
  settings: { name: string; env: Record<string, string>; client?: object; key?: string }[];
};

for (const { name, env: variables, client, key: expected } of shared.settings) {
  if (client !== undefined) continue;
  test(`settings, as in all clients: ${name}`, async () => {
    calls.length = 0;
    const isValid = expected !== undefined;
    const { code, err } = await cli.run(["whoami"], { ...variables, ...(isValid && { PENNYBLACK_URL: url }) });
    assert.deepEqual([code, calls.length], isValid ? [0, 1] : [2, 0], err);
    if (!isValid) assert.match(err, /^pennyblack: .*(?:PENNYBLACK_API_KEY|URL)/);
    assert.ok(!err.includes("pb_test_environment"));
  });
}

test("lens prints the tier of a page, the list behind it and how to object", async () => {
  const { out } = await succeed("lens", "listed.example", "--lens", "research");
  assert.match(
    out,
    /^Tier +D\nReason +listed as satire\nList +A list \(2026-11-16\)\nSource +https:\/\/lists\.example\/$/m,
  );
  assert.match(out, /^Object +https:.*#objections$/m);
  assert.deepEqual(
    JSON.parse((await succeed("lens", "listed.example", "--lens", "research", "--json")).out),
    inspection,
  );
});

test("whoami prints the server, the key, its limits and its budget", async () => {
  const { out } = await succeed("whoami");
  const lines = [
    `Server        ${url}`,
    "Key from      PENNYBLACK_API_KEY",
    "Key           pb_live_ab…",
    "Name          batch",
    "Mode          live",
    "Scopes        search",
    "Expires       never",
    "Limits        1000 searches per second, 1000 in flight",
    "Daily budget  0.12 USD spent, 0.88 USD left of 1.00 USD, resets 2026-11-17 00:00:00 UTC",
  ];
  for (const line of lines) assert.ok(out.includes(`${line}\n`), `${line}\n${out}`);
  assert.match((await succeed("whoami", "--management")).out, /^Key from +PENNYBLACK_MANAGEMENT_KEY$/m);
  const { server: address, source, name } = JSON.parse((await succeed("whoami", "--json")).out);
  assert.deepEqual([address, source, name], [url, "PENNYBLACK_API_KEY", "batch"]);
});

test("whoami prints the lower limits that a key shares, and none for a management key, which cannot search", async () => {
  const own = responses["GET /v1/key"];
  responses["GET /v1/key"] = { ...key, mode: "test", effective_limits: limits };
  const { out } = await succeed("whoami");
  assert.match(out, /^Limits +20 searches per second, 20 in flight, for all test keys of the wallet$/m);
  responses["GET /v1/key"] = { ...key, mode: "mgmt", effective_limits: null };
  assert.doesNotMatch((await succeed("whoami", "--management")).out, /^(?:Limits|Budget)/m);
  responses["GET /v1/key"] = own;
});

test("keys list prints the rest of each budget, the last use, the expiry and the time at which a rotated key stops working", async () => {
  const month = { limit: "20.00", spent: "3.00", resets_at: "2026-12-01T00:00:00Z" };
  const end = "2026-11-18T09:00:00.000Z";
  responses["GET /v1/keys"] = {
    keys: [
      { ...key, id: "k-9", name: "new", rotated_from: "k-8", budget: { total: null, day, month }, last_used_at: at },
      { ...key, id: "k-8", name: "old", expires_at: end },
      { ...key, id: "k-7", name: "gone", budget: null, rotated_from: "k-6", state: "revoked" },
      { ...key, id: "k-6", name: "older", budget: null, expires_at: end, state: "expired" },
      { ...key, id: "k-5", name: "ends", budget: null, expires_at: end },
    ],
    next_cursor: null,
  };
  const { out } = await succeed("keys", "list");
  assert.deepEqual(
    out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/)),
    [
      ["ID", "KEY", "MODE", "STATE", "SPENT/BUDGET", "LAST USED", "EXPIRES", "NAME"],
      ["k-9", "pb_live_ab…", "live", "active", "0.12/1.00 day, 3.00/20.00 month", "2026-11-16 17:20Z", "never", "new"],
      ["k-8", "pb_live_ab…", "live", "until 2026-11-18 09:00Z", "0.12/1.00 day", "never", "2026-11-18 09:00Z", "old"],
      ["k-7", "pb_live_ab…", "live", "revoked", "none", "never", "never", "gone"],
      ["k-6", "pb_live_ab…", "live", "expired", "none", "never", "2026-11-18 09:00Z", "older"],
      ["k-5", "pb_live_ab…", "live", "active", "none", "never", "2026-11-18 09:00Z", "ends"],
    ],
  );
  responses["GET /v1/keys"] = { keys, next_cursor: null };
});

const expiries: [given: string, sent: string | null][] = [
  ["2027-01-31", "2027-01-31T00:00:00Z"],
  ["2027-01-31T18:00:00Z", "2027-01-31T18:00:00Z"],
  ["2027-01-31T18:00+02:00", "2027-01-31T18:00+02:00"],
  ["none", null],
];

for (const [given, sent] of expiries) {
  test(`--expires ${given} is sent as ${sent}`, async () => {
    await succeed("keys", "update", uuid, "--expires", given);
    assert.equal(calls.at(-1), `PATCH /v1/keys/${uuid} ${JSON.stringify({ expires_at: sent })}`);
  });
}

test("alerts are shown, and set without changing what is not given", async () => {
  assert.equal((await succeed("alerts", "show")).out, "Low balance  no alert\nEmail        ops@example.com\n");
  await succeed("alerts", "set", "--low-balance", "5.00");
  assert.equal(calls.at(-1), 'PUT /v1/wallet/alerts {"email":"ops@example.com","low_balance":"5.00"}');
  calls.length = 0;
  await succeed("alerts", "set", "--low-balance", "none", "--email", "none");
  assert.deepEqual(calls, ['PUT /v1/wallet/alerts {"email":null,"low_balance":null}']);
});

test("a retry is visible on a terminal, and neither in a pipe nor with --json", async (context) => {
  context.mock.method(Math, "random", () => 0);
  const show = (args: string[], isTerminal: boolean) => {
    isOverloaded = true;
    return cli.run(["alerts", "show", ...args], env, { isTerminal });
  };
  assert.deepEqual(await show([], true), {
    code: 0,
    out: "Low balance  no alert\nEmail        ops@example.com\n",
    err: "Attempt 1 failed: overloaded (503). Next attempt in 0.0 s.\n",
  });
  assert.equal((await show([], false)).err, "");
  assert.equal((await show(["--json"], true)).err, "");
});

test("entries prints a table, fetches only the pages it needs and passes its filters on", async () => {
  const { out } = await succeed("entries", "--limit", "2");
  assert.match(out, /^TIME +KIND +USD +BALANCE +REQUEST\n2026-11-16 17:20:01 UTC {2}search {2}-0\.01 /);
  assert.equal(out.trimEnd().split("\n").length, 3);
  assert.equal(calls.at(-1), "GET /v1/wallet/entries?limit=2&cursor=c");
  const filters = ["--request-id", uuid, "--kind", "search", "--from", "2026-11-01", "--to", "2026-11-30"];
  assert.match((await succeed("entries", ...filters)).out, /^No entries\. The search was not charged, unless/);
  assert.equal((await succeed("entries", ...filters, "--json")).out, '{"entries":[]}\n');
});

test("searches prints a table with refusals and replays, and how many of them are not listed", async () => {
  const { out } = await succeed("searches");
  assert.match(
    out,
    /^TIME +KIND +MODE +OUTCOME +KEY +RUN +MS +USD +REQUEST\n2026-11-16 17:20:01 UTC {2}search {2}live {2}upstream_timeout {2}batch +9004 {2}0\.00 {2}019a/,
  );
  assert.equal(out.trimEnd().split("\n").length, 2);
  const filters = "--kind all --outcome failed --key batch --mode live --run nightly --for ada --category gov";
  const some = [...filters.split(" "), "--from", "2026-11-01", "--to", "2026-11-30", "--limit", "2"];
  const rows = (await succeed("searches", ...some)).out.trimEnd().split("\n");
  assert.match(rows[2] ?? "", /refused +live +run_budget_spent +batch +nightly +0\.00/);
  assert.deepEqual(rows.slice(3), [
    "At least 1,204 more since 2026-11-16 17:20:01 UTC were counted but not stored individually.",
  ]);
  assert.deepEqual(JSON.parse((await succeed("searches", ...some, "--json")).out), {
    searches: [search, refused],
    unlisted,
  });
  assert.match((await succeed("searches", "--kind", "refused")).out, /^None\.\nThere can be more since 2026-/);
});

test("runs prints what each run has left", async () => {
  assert.match((await succeed("runs")).out, /^RUN .*\nnightly +2 +0\.02 +0\.48 +0\.50 /);
});

test("keys are found by id or exact name, and update sends only the given settings", async () => {
  assert.match((await succeed("keys", "show", "batch")).out, /^Key +pb_live_ab…\nName +batch\n/);
  calls.length = 0;
  await succeed("keys", "show", uuid);
  assert.deepEqual(calls, [`GET /v1/keys/${uuid}`]);
  await succeed("keys", "update", "batch", "--per-day", "2.00", "--total", "none", "--allow-ip", "any");
  const body = '{"budget":{"day":"2.00","total":null},"allowed_ips":null}';
  assert.equal(calls.at(-1), `PATCH /v1/keys/${uuid} ${body}`);
  // An id takes precedence over a name.
  assert.match((await cli.run(["keys", "show", "k-2"], env)).err, /No GET \/v1\/keys\/k-2\./);
});

const failures: [args: string[], code: number, message: RegExp][] = [
  [
    ["keys", "revoke", "twin", "--yes"],
    1,
    /^pennyblack: 2 keys have the name "twin".*Use an id:\n {2}k-2 .*\n {2}k-3 /,
  ],
  [["keys", "rotate", "bat"], 1, /No key has the id or name "bat"/],
  [["keys", "update", "batch"], 2, /No changes given/],
  [["keys", "update", "batch", "--expires", "tomorrow"], 2, /Expected a date such as 2027-01-31, or a time with its/],
  [["keys", "update", "batch", "--expires", "2027-02-30"], 2, /Expected a date/],
  [["keys", "update", "batch", "--expires", "2027-01-31T18:00"], 2, /Expected a date/],
  [["alerts", "set"], 2, /No changes given/],
  [["alerts", "set", "--low-balance", "5,00"], 2, /Expected an amount in USD/],
  [["webhooks", "delete", "w-1"], 2, /Add --yes/],
  [["webhooks", "update", "w-1", "--enable", "--disable"], 2, /cannot be used with option/],
  [["webhooks", "create", "https://a.example", "--event", "key.made"], 2, /Allowed choices are wallet\.low_balance/],
];

for (const [args, expected, message] of failures) {
  test(`rejects: pennyblack ${args.join(" ")}`, async () => {
    calls.length = 0;
    const { code, err } = await cli.run(args, env);
    assert.equal(code, expected);
    assert.match(err, message);
    assert.ok(calls.every((call) => call.startsWith("GET ")));
  });
}

test("webhooks are listed, changed, tested and deleted", async () => {
  const { out } = await succeed("webhooks", "list");
  assert.match(out, /\nw-1 +disabled \(gone\) +https:\/\/a\.example\/hook +key\.created +ops\n$/);
  assert.match((await succeed("webhooks", "update", "w-1", "--enable")).out, /^Updated: .*\(enabled\)\n$/);
  assert.equal(calls.at(-1), 'PATCH /v1/webhooks/w-1 {"enabled":true}');
  assert.equal((await succeed("webhooks", "test", "w-1")).out, "Queued: webhook.test (delivery d-1)\n");
  const deliveries = (await succeed("webhooks", "deliveries", "w-1")).out;
  assert.match(deliveries, /\nd-1 .* webhook\.test +pending +2 +503, next attempt 2026-11-16 17:20:01 UTC\n$/);
  assert.match((await succeed("webhooks", "replay", "d-1")).out, /^Queued: /);
  assert.equal((await succeed("webhooks", "delete", "w-1", "--yes")).out, "Deleted: w-1\n");
});

test("a signing secret is printed alone or written to a private file", async () => {
  const created = await succeed(
    "webhooks",
    "create",
    "https://a.example/hook",
    "--event",
    "key.created",
    "key.revoked",
  );
  assert.equal(created.out, "whsec_made\n");
  assert.equal(
    calls.at(-1),
    'POST /v1/webhooks {"url":"https://a.example/hook","events":["key.created","key.revoked"]}',
  );
  const file = join(cli.home, "secret");
  const rotated = await succeed("webhooks", "rotate-secret", "w-1", "--out", file);
  assert.equal(rotated.out, "");
  assert.match(
    rotated.err,
    /^Saved the signing secret of webhook w-1 to .*\nUntil 2026-11-16 17:20:01 UTC, deliveries/,
  );
  assert.deepEqual([readFileSync(file, "utf8"), statSync(file).mode & 0o777], ["whsec_new\n", 0o600]);
});

test("a response without results is reported, never printed as an empty result", async () => {
  responses["POST /v1/search"] = { query: "cats", n: 0 };
  const { code, out, err } = await cli.run(["search", "cats"], env);
  assert.deepEqual([code, out], [4, ""], err);
  assert.match(err, /The response \(status 200\) is not from the Pennyblack API\. You may have been charged\./);
});

test("a failed connection names the address, the charge and what to check", async () => {
  const { url: address, close: closePort } = await listen(createServer());
  await closePort();
  const { code, err } = await cli.run(["search", "cats", "--url", address], env);
  assert.equal(code, 3);
  assert.ok(err.startsWith(`pennyblack: Could not connect to ${address} (ECONNREFUSED). You were not charged.\n`), err);
  assert.match(err, /\n {2}Check that the server is running, and that its URL is right \(--url, PENNYBLACK_URL/);
});
