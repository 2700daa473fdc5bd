import { randomUUIDv7 } from "node:crypto";
import type { Pool } from "../../src/db/pool.ts";
import { createKey, type NewKey, type Pepper } from "../../src/keys/keys.ts";
import { rollUpUsage } from "../../src/usage/roll-up.ts";
import { topUpBatch } from "../../src/wallet/statements.ts";
import { reconcile } from "../../src/wallet/wallet.ts";
import { seedChange } from "../support/data/seed-change.ts";
import { seedKeyLimits, seedSharedBudget } from "../support/data/seed-wallet.ts";
import { withoutTriggers } from "../support/data/without-triggers.ts";

// Five weeks of demo data of a small company, for screenshots and browser tests. It passes reconciliation.

export interface Demo {
  accountId: string;
  walletId: string;
  ownerEmail: string;
  keyIds: Record<"agent" | "crawler" | "staging" | "laptop" | "retired", string>;
}

const days = 35;
const dayMs = 86_400_000;

export async function seedDemo(owner: Pool, pepper: Pepper, ownerEmail = "ada@harbour.example"): Promise<Demo> {
  const { accountId, walletId } = await seedPeople(owner, ownerEmail);
  const key = async (options: Omit<NewKey, "walletId">): Promise<string> =>
    (await createKey(owner, pepper, { ...options, walletId })).id;
  const weekly = { name: "Research team", period: "week", amount: 25_000_000n, alerts: [80, 95] };
  const team = await seedSharedBudget(owner, walletId, weekly);
  const perEndUser = { name: "Support chat", period: "day", amount: 250_000n, isPerEndUser: true };
  await seedSharedBudget(owner, walletId, perEndUser);
  const limitsId = await seedKeyLimits(owner, walletId, { day: 5_000_000n, month: 60_000_000n, shared: [team] });
  const stagingLimitsId = await seedKeyLimits(owner, walletId, { shared: [team] });
  const crawlerLimitsId = await seedKeyLimits(owner, walletId, { day: 800_000n });
  const keyIds = {
    agent: await key({ mode: "live", name: "production agent", limitsId }),
    crawler: await key({ mode: "live", name: "nightly digest", limitsId: crawlerLimitsId }),
    staging: await key({ mode: "live", name: "staging", limitsId: stagingLimitsId }),
    retired: await key({ mode: "live", name: "old worker" }),
    laptop: await key({ mode: "test", name: "laptop" }),
  };
  await owner.query(
    "update pb.keys set created_at = clock_timestamp() - interval '34 days', last_used_at = clock_timestamp() - interval '2 minutes' where wallet_id = $1",
    [walletId],
  );
  await owner.query("update pb.keys set revoked_at = clock_timestamp() - interval '9 days' where id = $1", [
    keyIds.retired,
  ]);
  await owner.query(
    `insert into pb.budget_requests (id, wallet_id, mode, budget_id, key_id, amount_micros, hours, sends_email, created_at)
     values ($1, $2, 'live', $3, $4, 10000000, 24, true, clock_timestamp() - interval '20 minutes')`,
    [randomUUIDv7(), walletId, team, keyIds.agent],
  );
  await seedApps(owner, pepper, walletId);
  await seedMoney(owner, walletId);
  await seedSearches(owner, walletId, keyIds);
  await seedCustomers(owner, pepper);
  await rollUpUsage(owner, new AbortController().signal);
  await seedUpstreams(owner);
  await seedActivity(owner, { accountId, walletId, keyIds });
  await seedOperators(owner, walletId);
  return { accountId, walletId, ownerEmail, keyIds };
}

async function seedPeople(owner: Pool, ownerEmail: string): Promise<{ accountId: string; walletId: string }> {
  const walletId = randomUUIDv7();
  const { rows } = await owner.query<{ id: string }>(
    "insert into pb.accounts (name, created_at) values ('Harbour Labs', clock_timestamp() - interval '36 days') returning id",
  );
  const accountId = rows[0]?.id ?? "";
  await owner.query("insert into pb.wallets (id, name, account_id) values ($1, 'Harbour Labs', $2)", [
    walletId,
    accountId,
  ]);
  await owner.query(
    `with people as (
       insert into pb.people (email, name) values
         ($2, 'Ada Winter'), ('ben@harbour.example', 'Ben Osei'), ('chiara@harbour.example', 'Chiara Russo')
       returning id, email
     )
     insert into pb.members (account_id, person_id, role, joined_at)
     select $1, id, (case email when $2 then 'owner' when 'ben@harbour.example' then 'developer' else 'viewer' end)::pb.member_role,
       clock_timestamp() - interval '30 days'
     from people`,
    [accountId, ownerEmail],
  );
  return { accountId, walletId };
}

/** Two connected apps and a disconnected one. Their keys have no secret that a person has. */
async function seedApps(owner: Pool, pepper: Pepper, walletId: string): Promise<void> {
  for (const [name, clientId, email, isRevoked] of [
    ["claude.ai", "https://claude.ai/oauth/client.json", "ben@harbour.example", false],
    ["Cursor of Ben", "3f0a8c5e-dynamic-client", "ben@harbour.example", false],
    ["assistant.example", "https://assistant.example/client.json", "ben@harbour.example", true],
  ] as const) {
    const limitsId = await seedKeyLimits(owner, walletId, { day: 1_000_000n });
    const scopes = ["search", "wallet:read"] as const;
    const { id } = await createKey(owner, pepper, { walletId, mode: "live", name, limitsId, scopes });
    await owner.query(
      `with key as (
         update pb.keys set start = 'oauth', revoked_at = case when $3 then clock_timestamp() end where id = $1
       )
       insert into pb.connected_apps (key_id, wallet_id, person_id, client_id)
       select $1, $2, id, $4 from pb.people where email = $5`,
      [id, walletId, isRevoked, clientId, email],
    );
  }
}

/** Adds payments through the normal code path, then backdates them. */
async function seedMoney(owner: Pool, walletId: string): Promise<void> {
  const now = Date.now();
  await owner.query("select pb.make_partitions(pb.utc_day($1), pb.utc_day($2))", [
    new Date(now - (days + 2) * dayMs),
    new Date(now),
  ]);
  const payments = [
    { kind: "credit", paymentId: `trial-${walletId}`, amount: 1_000_000n, daysAgo: days + 0.4 },
    { kind: "top_up", paymentId: `demo-1-${walletId}`, amount: 50_000_000n, daysAgo: days - 0.5 },
    { kind: "top_up", paymentId: `demo-2-${walletId}`, amount: 50_000_000n, daysAgo: 16.2 },
    { kind: "top_up", paymentId: `demo-3-${walletId}`, amount: 20_000_000n, daysAgo: 4.6 },
  ] as const;
  for (const { kind, daysAgo, ...payment } of payments) {
    await topUpBatch(owner, kind, [{ ...payment, walletId }]);
    const at = `timestamptz '${new Date(now - daysAgo * dayMs).toISOString()}'`;
    await owner.query(
      withoutTriggers(
        `with moved as (
           update pb.payments set created_at = ${at}, transfer_id = pb.uuid_floor(${at})
           where payment_id = '${payment.paymentId}'
         )
         update pb.transfers t set created_at = ${at}, id = pb.uuid_floor(${at})
         from pb.payments p where p.payment_id = '${payment.paymentId}' and t.id = p.transfer_id`,
      ),
    );
  }
}

/** About 240 searches per working day, fewer at night and on weekends. One in 40 fails, with an outage twelve days ago. */
async function seedSearches(owner: Pool, walletId: string, keyIds: Demo["keyIds"]): Promise<void> {
  const { agent, crawler, staging, retired, laptop } = keyIds;
  await owner.query("select setseed(0.42)");
  const values = [walletId, agent, crawler, staging, retired, laptop, days];
  await owner.query(
    `insert into pb.searches
       (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, category, outcome)
     select
       (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(noise, 3) || '8' || right(noise, 15))::uuid,
       $1, key_id,
       (case key_id when $6::uuid then 'test' else 'live' end)::pb.key_mode,
       case key_id when $6::uuid then 0 else 10000 end,
       (case when failed then 'released' else 'captured' end)::pb.search_state,
       at, at + interval '1 minute',
       at + make_interval(secs => case when failed and luck < 0.5 then 9.8 else 0.22 + 0.5 * luck * luck + case when luck > 0.96 then 1.6 else 0 end end),
       (array['programming', 'programming', 'research', 'business', null])[1 + floor(random() * 5)::integer],
       case when failed then (array['upstream_timeout', 'upstream_unreachable', 'upstream_error', 'caller_left'])[1 + floor(luck * 4)::integer] end
     from (
       select at, md5(random()::text) as noise, luck,
         chance * 17 - floor(chance * 17) < 0.024 or (at > clock_timestamp() - interval '12.3 days' and at < clock_timestamp() - interval '12.25 days' and luck > 0.3) as failed,
         case
           when extract(hour from at) between 2 and 3 then $3::uuid
           when kind < 0.62 then $2::uuid
           when kind < 0.74 then $4::uuid
           when kind < 0.86 and at < clock_timestamp() - interval '9.5 days' then $5::uuid
           when kind < 0.93 then $6::uuid
           else $2::uuid
         end as key_id
       from (
         select clock_timestamp() - interval '3 minutes' - make_interval(secs => second) as at, random() as kind, random() as luck, random() as chance
         from generate_series(0, $7::integer * 86400 - 40000, 173) second
       ) moments
       where chance < (0.25 + 0.75 * (extract(hour from at) between 7 and 19)::integer)
         * (case when extract(isodow from at) > 5 then 0.4 else 1 end)
         * (0.55 + 0.45 * (extract(epoch from at) - extract(epoch from clock_timestamp()) + $7::integer * 86400) / ($7::integer * 86400))
     ) searches
     order by at`,
    values,
  );
  await addCaptures(owner, walletId);
  await owner.query(
    `insert into pb.budget_windows (wallet_id, mode, budget_id, subject, limit_micros, spent_micros, opened_at, resets_at)
     select k.wallet_id, k.mode, b.id, '', b.amount_micros, 10000 * count(s.id), p.since, p.since + ('1 ' || b.period)::interval
     from pb.keys k
     join pb.key_limit_budgets l on l.limits_id = k.limits_id
     join pb.budgets b on b.id = l.budget_id
     cross join lateral (select date_trunc(b.period, clock_timestamp(), 'utc') as since) p
     join pb.searches s on s.key_id = k.id and s.state = 'captured' and s.held_at >= p.since
     where k.wallet_id = $1 and not b.per_end_user group by k.wallet_id, k.mode, b.id, p.since`,
    [walletId],
  );
  await owner.query(
    `update pb.searches s set window_ids = array(
       select w.id from pb.budget_windows w join pb.key_limit_budgets l on l.budget_id = w.budget_id
       join pb.keys k on k.limits_id = l.limits_id where k.id = s.key_id and w.opened_at <= s.held_at
     ) where s.wallet_id = $1 and s.held_at >= clock_timestamp() - interval '31 days'`,
    [walletId],
  );
  await owner.query(
    `update pb.usage_watermark set counted_before = date_trunc('hour', clock_timestamp() - make_interval(days => $1 + 1))`,
    [days],
  );
  await owner.query("update pb.sweep_watermark set settled_before = clock_timestamp() - interval '90 seconds'");
  await owner.query("select pb.report_worker($1, '{}', '{sweep}', '{300}', '{sweep}', false)", [randomUUIDv7()]);
}

/** Two upstreams, one of which had an outage last night. */
async function seedUpstreams(owner: Pool): Promise<void> {
  // One search in four is answered by SearXNG, which costs nothing. A call to Brave costs half a cent.
  await owner.query(
    `with calls as (
       select pb.utc_day(held_at) as day, wallet_id, provider, case provider when 'brave' then 5000 else 0 end as cost,
         case state when 'captured' then 1 else 0 end as paid, case outcome when 'caller_left' then 1 else 0 end as abandoned,
         case outcome when 'upstream_timeout' then 'timeout' when 'upstream_unreachable' then 'unreachable'
           when 'upstream_error' then 'status' when 'caller_left' then 'aborted' else 'ok' end as outcome
       from pb.searches, lateral (select case abs(hashtext(id::text)) % 4 when 0 then 'searxng' else 'brave' end as provider) p
       where mode = 'live'
     ), days as (
       insert into pb.upstream_days (day, provider, outcome, calls, cost_micros, revenue_micros, paid_cost_micros)
       select day, provider, outcome, count(*), sum(cost), sum(paid) * 10000, sum(paid * cost) from calls group by 1, 2, 3
     )
     insert into pb.upstream_wallet_days
     select day, wallet_id, provider, count(*), sum(cost), sum(paid), sum(paid * cost), sum(abandoned), sum(abandoned * cost)
     from calls group by 1, 2, 3`,
  );
  await owner.query(
    `insert into pb.upstream_hours (hour, provider, outcome, up_to_ms, calls, was_open)
     select date_trunc('hour', clock_timestamp(), 'utc') - make_interval(hours => n), provider, outcome, up_to_ms, calls,
       provider = 'searxng' and n = 7 and outcome <> 'ok'
     from generate_series(0, 23) n, lateral (values
       ('brave', 'ok', 400, 8 + n * 7 % 11), ('brave', 'ok', 800, 2), ('brave', 'timed_out', 10000, (n = 15)::integer),
       ('searxng', 'ok', 400, case n when 7 then 1 else 4 + n % 5 end), ('searxng', 'unreachable', 100, case n when 7 then 9 when 8 then 1 else 0 end)
     ) as p (provider, outcome, up_to_ms, calls)
     where calls > 0`,
  );
}

/** Other customers. One abandons more searches than it pays for. */
async function seedCustomers(owner: Pool, pepper: Pepper): Promise<void> {
  const customers = [
    { name: "Fjord Analytics", email: "ida@fjord.example", amount: 120_000_000n, everyMinutes: 30, abandons: 0.02 },
    { name: "Tern & Co", email: "otto@tern.example", amount: 4_000_000n, everyMinutes: 190, abandons: 0.05 },
    { name: "Mira Sol", email: "mira@sol.example", amount: 500_000n, everyMinutes: 650, abandons: 0.7 },
  ];
  for (const { name, email, amount, everyMinutes, abandons } of customers) {
    const id = randomUUIDv7();
    await owner.query(
      `with account as (insert into pb.accounts (name) values ($2) returning id),
         person as (insert into pb.people (email, name) values ($3, '') returning id),
         member as (insert into pb.members (account_id, person_id, role) select account.id, person.id, 'owner' from account, person)
       insert into pb.wallets (id, name, account_id) select $1, $2, id from account`,
      [id, name, email],
    );
    await topUpBatch(owner, "top_up", [{ paymentId: `demo-${id}`, walletId: id, amount }]);
    const { id: keyId } = await createKey(owner, pepper, { walletId: id, mode: "live", name: "search" });
    await owner.query(
      `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, outcome)
       select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(noise, 3) || '8' || right(noise, 15))::uuid,
         $1, $2, 'live', 10000, (case when abandoned then 'released' else 'captured' end)::pb.search_state,
         at, at + interval '1 minute', at + interval '400 ms', case when abandoned then 'caller_left' end
       from (
         select clock_timestamp() - interval '4 minutes' - make_interval(mins => minute) as at, random() < $4 as abandoned,
           md5(random()::text) as noise
         from generate_series(0, 28 * 1440, $3::integer) minute
       ) moments`,
      [id, keyId, everyMinutes, abandons],
    );
    await addCaptures(owner, id);
  }
}

/** The transfers of a wallet's captured searches, and the wallet's debits. */
async function addCaptures(owner: Pool, walletId: string): Promise<void> {
  await owner.query(
    `insert into pb.transfers (id, search_id, wallet_id, kind, from_account, to_account, amount_micros, created_at)
     select id, id, wallet_id, 'capture', 'wallet', 'revenue', 10000, settled_at
     from pb.searches where wallet_id = $1 and state = 'captured' and mode = 'live'`,
    [walletId],
  );
  await owner.query(
    `update pb.wallets set debited_micros = (select 10000 * count(*) from pb.transfers where wallet_id = $1 and kind = 'capture')
     where id = $1`,
    [walletId],
  );
}

/** Operator actions, and a day of reconciliations. */
type Values = [before?: Record<string, unknown> | undefined, after?: Record<string, unknown>];

/** Changes by members, oldest first. */
async function seedActivity(
  owner: Pool,
  { accountId, walletId, keyIds }: Pick<Demo, "accountId" | "walletId" | "keyIds">,
): Promise<void> {
  const { rows } = await owner.query<{ ada: string; ben: string; chiara: string }>(
    `select min(p.id::text) filter (where m.role = 'owner') as ada, min(p.id::text) filter (where m.role = 'developer') as ben,
       min(p.id::text) filter (where m.role = 'viewer') as chiara
     from pb.members m join pb.people p on p.id = m.person_id where m.account_id = $1`,
    [accountId],
  );
  const { ada = "", ben = "", chiara = "" } = rows[0] ?? {};
  const daysAgo = (count: number): Date => new Date(Date.now() - count * dayMs);
  const add = (
    personId: string,
    at: number,
    [act, subject]: [act: string, subject: string],
    [before, after]: Values = [],
  ): Promise<void> =>
    seedChange(owner, {
      at: daysAgo(at),
      act,
      subject,
      personId,
      ...(/^(?:member|session)/.test(act) ? { accountId } : { walletId }),
      ...(before && { before }),
      ...(after && { after }),
    });
  const created = { mode: "live", scopes: ["search"] };
  await add(ada, 34.4, ["key.create", keyIds.agent], [undefined, { ...created, name: "production agent" }]);
  await add(ada, 34.3, ["key.create", keyIds.staging], [undefined, { ...created, name: "staging" }]);
  await add(ben, 34.2, ["key.create", keyIds.crawler], [undefined, { ...created, name: "nightly digest" }]);
  await add(ben, 34.1, ["key.create", keyIds.laptop], [undefined, { ...created, mode: "test", name: "laptop" }]);
  await add(ada, 30, ["member.change", chiara], [{ role: "developer" }, { role: "viewer" }]);
  await add(
    ada,
    12.5,
    ["alerts.change", walletId],
    [undefined, { email: "billing@harbour.example", low_balance: "5.00" }],
  );
  await add(ben, 9, ["key.revoke", keyIds.retired]);
  await add(ben, 3.3, ["session.start", ben]);
  await add(ben, 3.2, ["key.change", keyIds.crawler], [{ budget_day: "0.50" }, { budget_day: "0.80" }]);
  await add(ada, 1.1, ["key.change", keyIds.agent], [undefined, { budget_month: "60.00" }]);
}

async function seedOperators(owner: Pool, walletId: string): Promise<void> {
  const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  const own = { walletId, subject: walletId };
  const olga = { ...own, operator: "olga" };
  await seedChange(owner, { ...olga, at: hoursAgo(216), act: "wallet.suspend", reason: "Card reported as stolen" });
  await seedChange(owner, { ...olga, at: hoursAgo(214), act: "wallet.resume", reason: "Bank confirmed the owner" });
  await seedChange(owner, {
    ...own,
    at: hoursAgo(2),
    operator: "per",
    act: "adjustment.request",
    subject: "goodwill-118",
    reason: "Slow answers on 3 November",
    outcome: "booked",
    after: { kind: "promotion", amount: "2.00" },
  });
  // Without statistics, reconciliation takes seconds.
  await owner.query("analyze pb.searches, pb.transfers, pb.usage_hours, pb.usage_days");
  const report = await reconcile(owner);
  const checks = JSON.stringify(report.checks);
  await owner.query(
    `insert into pb.reconciliations (at, differences, checks)
     select clock_timestamp() - make_interval(mins => 11 + 60 * n), 0, $1 from generate_series(0, 23) n`,
    [checks],
  );
}
