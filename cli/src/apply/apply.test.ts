import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, mock, test } from "node:test";
import { type CliRun, createCli } from "../../../server/test/support/clients/run-cli.ts";
import { closeAfter } from "../../../server/test/support/close-after.ts";
import { createPaymentFixture } from "../../../server/test/support/payments/payment-fixture.ts";
import { listen } from "../../../server/test/support/services/listen.ts";
import type { TestWallet } from "../../../server/test/support/services/server.ts";
import { toDesiredBudget } from "./plan-budgets.ts";
import { toDesiredKey } from "./plan-keys.ts";

// `pennyblack apply` against a real server, directly and through a proxy at which requests fail.

const { db, server, createWallet } = await createPaymentFixture();
const cli = createCli();
after(() => cli.remove());
// The client waits between attempts for a random time.
mock.method(Math, "random", () => 0);

const settings = {
  $schema: "./node_modules/@pennyblack/cli/pennyblack.schema.json",
  budgets: [
    { external_id: "team", mode: "live", name: "Team", amount: "100", period: "month" },
    { external_id: "users", mode: "live", name: "Users", amount: "0.50", period: "day", per: "end_user" },
  ],
  keys: [
    {
      external_id: "agent",
      mode: "live",
      name: "Agent",
      budget: { day: "5" },
      budgets: ["users", "team"],
      end_user_limit: { amount: "0.1", period: "day" },
      allowed_ips: ["127.0.0.1", "2001:DB8:0::/32", "::1"],
      expires_at: "2099-01-31T12:00:00+01:00",
      sources: { block: ["Example.com", "bücher.example"] },
      compat: { ignore: ["freshness", "country"], repeat: "20m" },
      max_run: { max: "0.5" },
      searches_per_second: 5,
    },
    { external_id: "agent", mode: "test", name: "Agent in tests" },
    { external_id: "deploy", mode: "mgmt", name: "Deploy", scopes: ["keys:read"] },
  ],
  webhooks: [
    { external_id: "ops", url: "https://example.com/hooks/secret-path", events: ["key.revoked", "wallet.low_balance"] },
  ],
  alerts: { email: "ops@example.com", low_balance: "5" },
  auto_top_up: { threshold: "5", amount: "20", monthly_cap: "100" },
};

const secretFiles = ["agent.live.key", "agent.test.key", "deploy.mgmt.key", "ops.webhook-secret"];

interface Place {
  wallet: TestWallet;
  /** Applies the settings and returns what was printed. */
  apply: (file: unknown, ...args: string[]) => Promise<CliRun>;
  secrets: string;
  url: string;
}

let places = 0;

async function createPlace(url = server.url): Promise<Place> {
  places += 1;
  const wallet = await createWallet("1.00");
  const [path, secrets] = [join(cli.home, `${places}.json`), join(cli.home, `secrets-${places}`)];
  const apply: Place["apply"] = async (file, ...args) => {
    writeFileSync(path, typeof file === "string" ? file : JSON.stringify(file));
    const env = { PENNYBLACK_URL: place.url, PENNYBLACK_MANAGEMENT_KEY: wallet.management };
    const result = await cli.run(["apply", path, ...args], env);
    assertNoSecret(place, result);
    return result;
  };
  const place: Place = { wallet, apply, secrets, url };
  return place;
}

const read = async ({ wallet }: Place, path: string) => (await server.manage(wallet.management, "GET", path)).body;

function readSecret({ secrets }: Place, name: string): string {
  return readFileSync(join(secrets, name), "utf8").trim();
}

/** Applying again changes nothing, and every object exists once with its secret. */
async function assertApplied(place: Place): Promise<void> {
  assert.deepEqual(await place.apply(settings, "--plan"), { code: 0, out: "No changes.\n", err: "" });
  assert.deepEqual(await place.apply(settings), { code: 0, out: "No changes.\n", err: "" });
  const { budgets } = await read(place, "/v1/budgets");
  const { keys } = await read(place, "/v1/keys");
  const { endpoints } = await read(place, "/v1/webhooks");
  const idsOf = (objects: { external_id: string | null }[]) => objects.flatMap(({ external_id: id }) => id ?? []);
  assert.deepEqual(idsOf(budgets).toSorted(), ["team", "users"]);
  assert.deepEqual(idsOf(keys).toSorted(), ["agent", "agent", "deploy"]);
  assert.deepEqual(idsOf(endpoints), ["ops"]);
  assert.deepEqual(readdirSync(place.secrets).toSorted(), secretFiles);
  for (const mode of ["live", "test", "mgmt"]) {
    const name = mode === "mgmt" ? "deploy.mgmt.key" : `agent.${mode}.key`;
    const secret = readSecret(place, name);
    const { start } = keys.find((key: { external_id: string; mode: string }) => key.external_id && key.mode === mode);
    assert.ok(secret.startsWith(start) && new RegExp(`^pb_${mode}_\\w+$`).test(secret), name);
    assert.equal(statSync(join(place.secrets, name)).mode & 0o777, 0o600);
  }
  assert.match(readSecret(place, "ops.webhook-secret"), /^whsec_/);
}

test("a plan lists every change, makes none and exits with 2; apply makes them, and a second run changes nothing", async () => {
  const place = await createPlace();
  const plan = await place.apply(settings, "--plan");
  assert.deepEqual(plan, {
    code: 2,
    out: `${[
      "+ create budget team (live)",
      "+ create budget users (live)",
      "+ create key agent (live)",
      "+ create key agent (test)",
      "+ create key deploy (mgmt)",
      "+ create webhook ops",
      "~ update alerts: email none -> ops@example.com, low_balance none -> 5.00",
      "+ create automatic top-up: daily_cap none -> 100.00, threshold none -> 5.00, amount none -> 20.00, monthly_cap none -> 100.00",
    ].join("\n")}\n`,
    err: "",
  });
  assert.equal((await read(place, "/v1/budgets")).budgets.length, 0);

  const applied = await place.apply(settings, "--secrets", place.secrets);
  assert.equal(applied.code, 0, applied.err);
  assert.equal(applied.out, plan.out);
  assert.match(applied.err, /Done: create key agent \(live\), secret in \S+agent\.live\.key\n/);
  assert.equal(statSync(place.secrets).mode & 0o777, 0o700);
  await assertApplied(place);

  const { keys } = await read(place, "/v1/keys");
  const agent = keys.find(({ external_id: id, mode }: Record<string, string>) => id === "agent" && mode === "live");
  assert.deepEqual(
    [agent.budget.day.limit, agent.budget.month, agent.budgets.map(({ name }: { name: string }) => name).toSorted()],
    ["5.00", null, ["Team", "Users"]],
  );
  assert.deepEqual(agent.sources, { block: ["example.com", "xn--bcher-kva.example"] });
  const reply = await server.search(readSecret(place, "agent.test.key"), { query: "cats" });
  assert.equal(reply.status, 200);
});

test("what someone else has changed is a difference, and apply restores it", async () => {
  const place = await createPlace();
  assert.equal((await place.apply(settings, "--secrets", place.secrets)).code, 0);
  const manage = (method: string, path: string, body: object) =>
    server.manage(place.wallet.management, method, path, body);
  const { keys } = await read(place, "/v1/keys");
  const key = keys.find(({ external_id: id, mode }: Record<string, string>) => id === "agent" && mode === "live");
  const changes = {
    name: "Renamed",
    budget: { day: "50", month: "500" },
    budgets: [],
    sources: null,
    allowed_ips: null,
    searches_in_flight: 7,
  };
  await manage("PATCH", `/v1/keys/${key.id}`, changes);
  const { budgets } = await read(place, "/v1/budgets");
  const team = budgets.find(({ external_id: id }: Record<string, string>) => id === "team");
  await manage("PATCH", `/v1/budgets/${team.id}`, { amount: "1000", alerts: [50] });
  const { endpoints } = await read(place, "/v1/webhooks");
  await manage("PATCH", `/v1/webhooks/${endpoints[0].id}`, { url: "https://elsewhere.example/other-path" });
  await manage("PUT", "/v1/wallet/alerts", { email: null, low_balance: "1" });
  const plan = await place.apply(settings, "--plan");
  assert.equal(plan.code, 2);
  assert.match(plan.out, /^~ update budget team \(live\): amount 1000\.00 -> 100\.00, alerts \[50\] -> \[80,95\]$/m);
  assert.match(
    plan.out,
    /^~ update key agent \(live\): .*budget \{"day":"50\.00","month":"500\.00"\} -> \{"day":"5\.00"\}/m,
  );
  assert.match(plan.out, /searches_in_flight 7 -> 1000/);
  assert.match(plan.out, /^~ update webhook ops: url https:\/\/elsewhere\.example\/… -> https:\/\/example\.com\/…$/m);
  assert.match(plan.out, /^~ update alerts: email none -> ops@example\.com, low_balance 1\.00 -> 5\.00$/m);
  assert.equal(plan.out.trimEnd().split("\n").length, 4, plan.out);
  assert.equal((await place.apply(settings)).code, 0);
  await assertApplied(place);
});

test("a temporary increase of a budget is no difference", async () => {
  const place = await createPlace();
  const file = { budgets: settings.budgets };
  assert.equal((await place.apply(file)).code, 0);
  await db.owner.query(
    `update pb.budgets set raise_micros = 5000000, raise_ends_at = now() + interval '1 hour'
     where wallet_id = $1 and external_id = 'team'`,
    [place.wallet.walletId],
  );
  const { budgets } = await read(place, "/v1/budgets");
  assert.equal(budgets.find(({ name }: { name: string }) => name === "Team").increase.amount, "5.00");
  assert.deepEqual(await place.apply(file, "--plan"), { code: 0, out: "No changes.\n", err: "" });
});

test("objects that are not in the file are left unchanged, and those with an external id are listed", async () => {
  const place = await createPlace();
  assert.equal((await place.apply(settings, "--secrets", place.secrets)).code, 0);
  const before = await read(place, "/v1/keys");
  const { out, code } = await place.apply({ keys: settings.keys.slice(1), webhooks: [], auto_top_up: null }, "--plan");
  assert.equal(code, 2);
  assert.equal(out, "- remove automatic top-up\nNot in the file, left unchanged:\n  key agent (live)\n  webhook ops\n");
  assert.equal((await place.apply({ keys: [], budgets: [] })).code, 0);
  assert.deepEqual(await read(place, "/v1/keys"), before);
  assert.equal((await place.apply({ auto_top_up: null })).code, 0);
  assert.equal((await read(place, "/v1/wallet/auto-top-up")).state, "none");
  assert.deepEqual(JSON.parse((await place.apply({ webhooks: [] }, "--plan", "--json")).out), {
    changes: [],
    not_in_file: [{ section: "webhooks", external_id: "ops" }],
  });
});

test("what cannot be changed is an error that names its path, and nothing else is changed", async () => {
  const place = await createPlace();
  assert.equal((await place.apply(settings, "--secrets", place.secrets)).code, 0);
  const [team, users] = settings.budgets;
  const other = { ...team, period: "week" };
  const [agent, ...keys] = settings.keys;
  const renamed = { ...agent, name: "Renamed", budgets: ["team"] };
  const result = await place.apply({ budgets: [users, other], keys: [renamed] });
  assert.equal(result.code, 1);
  assert.match(result.err, /budgets\[1\]\.period cannot be changed\. No changes were made/);
  const scopes = await place.apply({ keys: [{ ...keys[1], scopes: ["keys:write"] }] });
  assert.match(scopes.err, /keys\[0\]\.scopes cannot be changed/);
  await assertApplied(place);
});

const [key] = settings.keys;
const invalid: [file: unknown, faults: RegExp][] = [
  ["{", /is not JSON\. Nothing was sent/],
  [[], /The file must be an object/],
  [{ key: [] }, /\n {2}key is not a known field/],
  [{ keys: [{ mode: "live", name: "x" }] }, /\n {2}keys\[0\]\.external_id is required/],
  [{ keys: [{ ...key, budgets: [], budget: { day: 5 } }] }, /\n {2}keys\[0\]\.budget\.day must be a string/],
  [{ keys: [{ ...key, external_id: "../key" }] }, /\n {2}keys\[0\]\.external_id must match/],
  [
    { keys: [key] },
    /\n {2}keys\[0\]\.budgets\[0\] is not the external id of a live budget of this file\n {2}keys\[0\]\.budgets\[1\]/,
  ],
  [{ webhooks: [...settings.webhooks, ...settings.webhooks] }, /\n {2}webhooks\[1\]\.external_id is that of another/],
  [{ alerts: { email: null } }, /\n {2}alerts\.low_balance is required/],
];

test("an invalid file is rejected with the path of every fault before anything is sent", async () => {
  const place = await createPlace("http://127.0.0.1:9");
  for (const [file, faults] of invalid) {
    for (const args of [["--plan"], []]) {
      const { code, err } = await place.apply(file, ...args);
      assert.equal(code, 1, err);
      assert.match(err, faults);
    }
  }
});

test("without a folder for secrets, or with a file in the way, nothing is created", async () => {
  const place = await createPlace();
  const missing = await place.apply(settings);
  assert.deepEqual([missing.code, missing.out], [1, ""]);
  assert.match(missing.err, /Name a folder for their secrets with --secrets\. Nothing was changed/);
  const other = await createPlace();
  assert.equal((await other.apply(settings, "--secrets", place.secrets)).code, 0);
  const taken = await place.apply(settings, "--secrets", place.secrets);
  assert.match(taken.err, /already has a file agent\.live\.key\. Move or delete it\. Nothing was changed/);
  assert.equal((await read(place, "/v1/budgets")).budgets.length, 0);
});

type Failure = "lost" | 429 | 500;

/** Forwards requests. From the changing request with this number on, all fail, until `repair` is called. */
async function startFailingProxy(number: number, failure: Failure) {
  let changes = 0;
  let isBroken = true;
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const { host: _host, connection: _connection, "content-length": _length, ...headers } = request.headers;
    const body = await buffer(request);
    if (method !== "GET") changes += 1;
    const fails = isBroken && method !== "GET" && changes >= number;
    if (fails && failure !== "lost") {
      const problem = { code: "overloaded", detail: "Failed.", retryable: true, charged: false };
      response.writeHead(failure, { "content-type": "application/json", "retry-after": "0" });
      response.end(JSON.stringify(problem));
      return;
    }
    const sent = { method, headers: headers as Record<string, string> };
    const answer = await fetch(server.url + url, { ...sent, ...(body.length > 0 && { body: new Uint8Array(body) }) });
    const text = await answer.text();
    if (fails) response.destroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  }
  const proxy = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  const { url } = closeAfter(await listen(proxy));
  return { url, repair: () => (isBroken = false) };
}

for (const failure of ["lost", 429, 500] as const) {
  test(`after any change fails (${failure}), the next run completes without duplicates, and no secret is missing`, async () => {
    for (let number = 1; number <= 8; number += 1) {
      const proxy = await startFailingProxy(number, failure);
      const place = await createPlace(proxy.url);
      const failed = await place.apply(settings, "--secrets", place.secrets);
      assert.ok(failed.code === 1 || failed.code === 3 || failed.code === 4, `${number}: ${failed.code} ${failed.err}`);
      assert.match(failed.err, new RegExp(`^${number - 1} of 8 changes were made\\. To make the others, run`, "m"));
      proxy.repair();
      const again = await place.apply(settings, "--secrets", place.secrets);
      assert.equal(again.code, 0, `${number}: ${again.err}`);
      await assertApplied(place);
    }
  });
}

test("a refused creation leaves no file behind", async () => {
  const place = await createPlace();
  const taken = { external_id: "agent", mode: "live", name: "Agent", expires_at: "2001-01-01T00:00:00Z" };
  const { code, err } = await place.apply({ keys: [taken] }, "--secrets", place.secrets);
  assert.deepEqual([code, readdirSync(place.secrets)], [1, []], err);
  assert.match(err, /expires_at/);
});

test("a webhook can be created disabled, and its secret is saved if disabling it fails", async () => {
  const file = { webhooks: settings.webhooks.map((webhook) => ({ ...webhook, enabled: false })) };
  const proxy = await startFailingProxy(2, 429);
  const place = await createPlace(proxy.url);
  const failed = await place.apply(file, "--secrets", place.secrets);
  assert.match(failed.err, /^1 of 2 changes were made/m);
  assert.match(readSecret(place, "ops.webhook-secret"), /^whsec_/);
  proxy.repair();
  const again = await place.apply(file, "--secrets", place.secrets);
  assert.deepEqual([again.code, again.out], [0, "~ update webhook ops: enabled true -> false\n"]);
  assert.equal((await read(place, "/v1/webhooks")).endpoints[0].enabled, false);
  assert.equal((await place.apply(file, "--plan")).code, 0);
});

test("every field of a key and a budget in the schema is compared, even if the file omits it", () => {
  const schema = JSON.parse(readFileSync(new URL("../../pennyblack.schema.json", import.meta.url), "utf8"));
  const { Key, Budget } = schema.$defs as Record<string, { properties: object }>;
  const fieldsOf = (...objects: (object | undefined)[]) =>
    [...new Set(objects.flatMap((object) => Object.keys(object ?? {})))].toSorted();
  const identity = { external_id: "a", mode: "live", name: "A" } as const;
  // The scopes of a key cannot be changed.
  assert.deepEqual(fieldsOf(identity, toDesiredKey(identity), { scopes: [] }), fieldsOf(Key?.properties));
  const budget = { ...identity, amount: "1.00", period: "day" } as const;
  assert.deepEqual(fieldsOf(budget, toDesiredBudget(budget)), fieldsOf(Budget?.properties));
});

test("a secret that was lost twice is replaced by the third run", async () => {
  const file = { webhooks: settings.webhooks, keys: [{ external_id: "agent", mode: "live", name: "Agent" }] };
  const place = await createPlace();
  for (const isLast of [false, false, true]) {
    const proxy = await startFailingProxy(1, "lost");
    if (isLast) proxy.repair();
    place.url = proxy.url;
    const { code, err } = await place.apply(file, "--secrets", place.secrets);
    assert.equal(code === 0, isLast, err);
  }
  const reply = await server.search(readSecret(place, "agent.live.key"), { query: "cats" });
  assert.notEqual(reply.status, 401);
  assert.deepEqual((await place.apply(file, "--secrets", place.secrets)).out, "No changes.\n");
  const { keys } = await read(place, "/v1/keys");
  const states = keys.flatMap(({ external_id: id, state }: Record<string, string>) => (id === "agent" ? [state] : []));
  assert.deepEqual(states, ["active"]);
});

test("no secret is printed, nor the path of a webhook, with and without --json", async () => {
  for (const more of [[], ["--json"]]) {
    const place = await createPlace();
    assert.equal((await place.apply(settings, "--secrets", place.secrets, ...more)).code, 0);
    const [webhook] = settings.webhooks;
    const moved = { ...settings, webhooks: [{ ...webhook, url: "https://example.com/other-path" }] };
    for (const name of ["agent.live.key", "ops.webhook-secret"]) writeFileSync(join(place.secrets, name), "");
    const { code, out } = await place.apply(moved, "--secrets", place.secrets, ...more);
    assert.equal(code, 0);
    assert.match(out, /replace secret/);
    assert.deepEqual(readdirSync(place.secrets).toSorted(), secretFiles);
  }
});

/** Checks the output of every run. */
function assertNoSecret({ secrets }: Place, { out, err }: CliRun): void {
  const all = out + err;
  assert.doesNotMatch(all, /whsec_|pb_(?:live|test|mgmt)_|secret-path|other-path/);
  if (!existsSync(secrets)) return;
  for (const name of readdirSync(secrets)) {
    const secret = readFileSync(join(secrets, name), "utf8").trim();
    assert.ok(secret === "" || (!all.includes(secret) && !all.includes(secret.slice(-12))), name);
  }
}
