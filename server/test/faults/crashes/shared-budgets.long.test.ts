import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, request as sendRequest } from "undici";
import { formatUsd, type Micros } from "../../../src/lib/money.ts";
import { expireHolds } from "../../../src/wallet/statements.ts";
import { createFixture } from "../../fixture.ts";
import { countBy } from "../../support/assertions/count-by.ts";
import { until } from "../../support/assertions/until.ts";
import type { TestDatabase } from "../../support/services/database.ts";
import type { TestServer, TestWallet } from "../../support/services/server.ts";
import { type ServerProcess, startServerProcess } from "../../support/services/server-process.ts";

// Twenty keys spend from four shared budgets on three servers, which are killed and started again meanwhile. Afterwards, every
// budget has spent exactly the captured searches of its keys, and none has spent more than its amount.

const searches = 5_000;
const inFlight = 500;
/** The searches before the servers rest and the holds of killed ones expire. */
const beforeRest = 4_000;
const maxKills = 6;
const keyCount = 20;
const endUsers = 10;

const budgets = [
  { name: "team", amount: "10.00", period: "total", per: "wallet", keys: [0, 10] },
  { name: "day", amount: "8.00", period: "day", per: "wallet", keys: [5, 15] },
  { name: "week", amount: "9.00", period: "week", per: "wallet", keys: [10, 20] },
  { name: "people", amount: "0.40", period: "month", per: "end_user", keys: [15, 20] },
] as const;

interface Search {
  key: string;
  endUser: string;
  run?: string;
}

test("shared budgets are spent exactly and never exceeded, with 500 searches in flight and killed servers", async (t) => {
  const { db, upstream, server, createWallet, assertBooksBalance } = await createFixture({}, t);
  const wallet = await createWallet("100.00");
  const keys = await createKeys(server, wallet);
  const settings = { PENNYBLACK_SEARXNG_URL: upstream.url };
  const servers = await Promise.all(Array.from({ length: 3 }, () => startServerProcess(db, settings)));
  const send = createSender(servers.map(({ url }) => url));
  t.after(send.close);

  const answers: string[] = [];
  const ended = new AbortController();
  const killing = killServers();
  const queue = Array.from({ length: searches }, (_, number) => makeSearch(keys, number));
  await runAll(queue.slice(0, beforeRest), send.search, answers);
  ended.abort();
  const kills = await killing;
  await expireAllHolds(db);
  // What killed searches had reserved can be spent now.
  await runAll(queue.slice(beforeRest), send.search, answers);
  await expireAllHolds(db);

  t.diagnostic(`${kills} kills; ${JSON.stringify(countBy(answers, (answer) => answer))}`);
  assert.ok(kills > 0);
  assert.equal(answers.length, searches);
  const windows = await readWindows(db, wallet);
  for (const { name, limit, spent } of windows) t.diagnostic(`${name}: ${formatUsd(spent)} of ${formatUsd(limit)} USD`);
  assert.ok(windows.length >= 3 + endUsers, "every budget was used, and that of each end user");
  for (const { name, limit, spent, counted, captured } of windows) {
    assert.equal(spent, counted, `${name} has spent the captured searches that list it`);
    assert.equal(spent, captured, `${name} has spent the captured searches of its keys`);
    assert.ok(spent <= limit, `${name} is not exceeded`);
  }
  const spentNames = await findSpentBudgets(server, keys);
  t.diagnostic(`spent to the cent: ${spentNames.join(", ")}`);
  assert.ok(spentNames.length > 0);
  await assertBooksBalance();

  /** Kills servers while they search, and starts each again at its address. */
  async function killServers(): Promise<number> {
    const progress = (): number => Math.floor(upstream.requests.length / 100) + Math.floor(answers.length / 400);
    let count = 0;
    for (; count < maxKills && !ended.signal.aborted; count += 1) {
      const seen = progress();
      await until("searches are answered", () => ended.signal.aborted || progress() > seen);
      const index = count % servers.length;
      const victim = servers[index] as ServerProcess;
      victim.process.kill("SIGKILL");
      await victim.ended;
      servers[index] = await startServerProcess(db, { ...settings, PORT: new URL(victim.url).port });
    }
    return count;
  }
});

async function createKeys(server: TestServer, wallet: TestWallet): Promise<string[]> {
  const create = async (path: string, fields: object): Promise<{ id: string; key: string }> => {
    const { status, body, text } = await server.manage(wallet.management, "POST", path, { mode: "live", ...fields });
    assert.equal(status, 200, text);
    return body;
  };
  const ids: string[] = [];
  for (const { keys: _, ...fields } of budgets) ids.push((await create("/v1/budgets", fields)).id);
  const keys: string[] = [];
  for (let number = 0; number < keyCount; number += 1) {
    const isOwn = (_: string, index: number): boolean => {
      const [first = 0, end = 0] = budgets[index]?.keys ?? [];
      return number >= first && number < end;
    };
    keys.push((await create("/v1/keys", { name: `key ${number}`, budgets: ids.filter(isOwn) })).key);
  }
  return keys;
}

function makeSearch(keys: readonly string[], number: number): Search {
  const endUser = `user-${Math.floor(number / keys.length) % endUsers}`;
  const isInRun = number % 4 === 0;
  return { key: keys[number % keys.length] ?? "", endUser, ...(isInRun && { run: "nightly; max=4.00" }) };
}

/** As the worker does 60 seconds after a hold. */
async function expireAllHolds({ owner }: TestDatabase): Promise<void> {
  await until("the holds of killed servers have expired", async () => {
    await owner.query("update pb.searches set expires_at = clock_timestamp() where state = 'pending'");
    await expireHolds(owner, 1_000);
    return (await owner.query("select from pb.searches where state = 'pending' limit 1")).rowCount === 0;
  });
}

interface Window {
  name: string;
  limit: Micros;
  spent: Micros;
  /** The price of the captured searches that list it. */
  counted: Micros;
  /** The price of the captured searches of the keys that use its budget. */
  captured: Micros;
}

async function readWindows({ owner }: TestDatabase, { walletId }: TestWallet): Promise<Window[]> {
  const { rows } = await owner.query<Window>(
    `select b.name || case when b.per_end_user then ' ' || row_number() over (partition by b.id order by w.id) else '' end as name,
       coalesce(w.limit_micros, b.amount_micros) as limit, w.spent_micros as spent,
       (select 10000 * count(*) from pb.searches s where s.state = 'captured' and w.id = any (s.window_ids)) as counted,
       (select 10000 * count(*) from pb.searches s
        join pb.keys k on k.id = s.key_id join pb.key_limit_budgets l on l.limits_id = k.limits_id and l.budget_id = b.id
        where s.state = 'captured' and (not b.per_end_user or s.end_user = w.subject)) as captured
     from pb.budget_windows w join pb.budgets b on b.id = w.budget_id
     where w.wallet_id = $1 order by w.id`,
    [walletId],
  );
  return rows;
}

/** Without holds, a search is refused only by a budget that is spent to the cent. Returns the names of these budgets. */
async function findSpentBudgets(server: TestServer, keys: readonly string[]): Promise<string[]> {
  const names = new Set<string>();
  for (let number = 0; number < keys.length * endUsers; number += 1) {
    const { key, endUser } = makeSearch(keys, number);
    const { status, body } = await server.search(key, { query: "probe" }, { "search-for": endUser });
    if (status === 200) continue;
    assert.equal(status, 403, JSON.stringify(body));
    assert.equal(body.spent, body.limit);
    names.add(body.budget.name);
  }
  return [...names];
}

async function runAll(
  queue: readonly Search[],
  send: (search: Search, number: number) => Promise<string>,
  answers: string[],
): Promise<void> {
  const waiting = queue.entries();
  const work = async (): Promise<void> => {
    for (const [number, search] of waiting) answers.push(await send(search, number));
  };
  await Promise.all(Array.from({ length: inFlight }, work));
}

/** Sends a search with an Idempotency-Key to one server after the other, until it has a final answer. */
function createSender(urls: readonly string[]) {
  const agent = new Agent({ connections: null, keepAliveTimeout: 1_000 });

  async function search({ key, endUser, run }: Search, number: number): Promise<string> {
    const headers = {
      "x-api-key": key,
      "content-type": "application/json",
      "search-for": endUser,
      "idempotency-key": randomUUID(),
      ...(run !== undefined && { "search-run": run }),
    };
    for (let attempt = 0; ; attempt += 1) {
      const url = urls[(number + attempt) % urls.length] ?? "";
      const answer = await sendOnce(`${url}/v1/search`, headers).catch(() => undefined);
      // The claim of a killed server lasts as long as its hold. The test ends such searches, as their callers would.
      const isFinal =
        answer && (answer.status === 200 || answer.status === 403 || answer.code === "idempotency_in_progress");
      if (isFinal) return answer.code ?? "paid";
      assert.ok(attempt < 600, `no answer: ${JSON.stringify(answer)}`);
      await wait(Math.min(50 * (attempt + 1), 1_000));
    }
  }

  async function sendOnce(url: string, headers: Record<string, string>) {
    const body = JSON.stringify({ query: "cats", n: 1 });
    const reply = await sendRequest(url, { method: "POST", headers, body, dispatcher: agent });
    const { code } = (await reply.body.json()) as { code?: string };
    return { status: reply.statusCode, code };
  }

  return { search, close: () => agent.destroy() };
}
