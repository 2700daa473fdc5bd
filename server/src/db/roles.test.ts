import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { seedKeyLimits, seedWallet } from "../../test/support/data/seed-wallet.ts";
import { seedPayments } from "../../test/support/payments/seed-payments.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { rollUpUsage } from "../usage/roll-up.ts";
import { captureBatch, holdBatch } from "../wallet/statements.ts";
import type { Pool } from "./pool.ts";
import { createRoles, findRoleFault, roleLimits, roles, servingRoles, withRole } from "./roles.ts";

// The whole schema is walked, so that a table, column, sequence or function added later is refused to the
// server's roles until someone writes it down here.

const ledgerMayCall = words(
  "capture changed_keys find_principals hold read_schema_version record_key_uses",
  "read_status release report_server secrets_in_use upstream_costs write_requests write_tally",
);
/** These take the wallet from pb.own_wallet(). */
const tenantMayCall = words(
  "archive_own_budget begin_top_up change_own_budget create_own_budget delete_auto_top_up record_checkout record_customer request_own_increase set_auto_top_up",
  "change_own_key change_webhook create_own_key create_webhook delete_webhook label_own_account own_search_ids own_wallet",
  "name_person replay_delivery own_data_key own_end_user_usage own_proof own_top_up_entry own_version set_end_user_ids",
  "revoke_own_key rotate_own_key rotate_webhook_secret are_requests_complete requests_listed_since searches_listed_since set_alerts test_webhook usage_as_of utc_day utc_month",
);
const usage = ["wallet_id", "key_id", "mode", "category", "outcome", "was_held", "searches", "charged_micros"];
const tenantMayRead: Record<string, string[]> = {
  wallets: words(
    "id name account_id credited_micros debited_micros held_micros owed_micros suspended_at created_at low_balance_micros alert_email",
  ),
  changes: words("id number at actor actor_id act subject account_id wallet_id outcome before after visibility"),
  events: ["id", "wallet_id", "type", "data", "created_at"],
  webhook_endpoints: words(
    "id wallet_id url description events created_at previous_until failing_since disabled_at disabled_reason external_id",
  ),
  webhook_deliveries: words(
    "id wallet_id endpoint_id event_id state attempts due_at created_at last_attempt_at response_status last_error",
  ),
  transfers: ["id", "wallet_id", "search_id", "kind", "from_account", "to_account", "amount_micros", "created_at"],
  keys: words(
    "id wallet_id mode name start scopes allowed_ips searches_per_second searches_in_flight limits_id compat sources max_run",
    "external_id",
    "expires_at revoked_at revoked_reason rotated_from last_used_at created_at",
  ),
  budgets: words(
    "id wallet_id mode name amount_micros period per_end_user alerts raise_micros raise_ends_at external_id created_at",
    "archived_at",
  ),
  key_limit_budgets: words("limits_id wallet_id budget_id position"),
  budget_windows: words("id wallet_id mode budget_id subject limit_micros spent_micros opened_at resets_at"),
  unheld_requests: words("id wallet_id key_id mode outcome run end_user transport"),
  usage_hours: [...usage, "hour"],
  usage_days: [...usage, "day"],
  top_ups:
    "id wallet_id kind status amount_micros refunded_micros saves_card checkout_url receipt_url failure created_at expires_at settled_at".split(
      " ",
    ),
  payment_customers: ["wallet_id", "customer_id"],
  auto_top_ups:
    "wallet_id threshold_micros amount_micros day_cap_micros month_cap_micros declines next_attempt_at off_at".split(
      " ",
    ),
  usage_end_users: words("wallet_id day mode end_user searches charged_micros"),
  end_user_settings: words("wallet_id stores_plain_ids"),
  searches: words(
    "id wallet_id key_id mode state price_micros held_at settled_at window_ids category outcome end_user auth_ms hold_ms upstream_ms rank_ms",
  ),
};

const paymentsMayCall = words(
  "begin_auto_top_ups book_payment delete_old_payment_events end_top_up expire_top_ups open_payment_notice",
  "record_comparison reverse_payment",
);
const paymentsMayRead: Record<string, string[]> = {
  wallets: ["id", "suspended_at"],
  top_ups: words("id wallet_id kind status checkout_id payment_id amount_micros created_at expires_at settled_at"),
  payment_comparison: ["compared_until"],
  payment_customers: ["wallet_id", "customer_id"],
  reversals: ["reversal_id", "kind", "state", "created_at"],
  payment_notices: words("id reason subject wallet_id amount_micros found_at closed_at"),
};

const operatorMayCall = words(
  "operator_adjust operator_decide_adjustment operator_health operator_refund operator_revoke_key operator_transfer",
  "operator_suspend operator_close_notice operator_accept_database close_month trial_balance find_principals read_schema_version",
  "operator_view operator_read_team open_incident update_incident read_status usage_as_of webhook_lag",
  "own_wallet own_search_ids searches_listed_since requests_listed_since are_requests_complete utc_day",
);
/** Each identifies a session by its digest; begin_session takes the address that a provider has verified. */
const peopleMayCall = words(
  "request_sign_in create_sign_in_token redeem_sign_in begin_session join_account end_session end_all_sessions read_session authorize_session",
  "installation_data_key open_own_account read_team invite_to_team revoke_invitation change_team read_own_invitation accept_own_invitation",
  "begin_oidc_session connect_app decide_budget_request forget_app read_apps read_budget_requests set_app_wallet",
);
/** Reads what reconciliation compares, and writes only through these. */
const workerMayCall = words(
  "read_schema_version sweep roll_up_usage recount_usage count_status read_status usage_as_of make_partitions partition_days_ahead drop_old_requests",
  "dispatch_events claim_deliveries return_delivery finish_delivery webhook_lag",
  "claim_alert_emails finish_alert_email claim_sign_in_emails finish_sign_in_email",
  "delete_expired_answers delete_ended_windows delete_old_end_users delete_old_events delete_expired_sign_ins",
  "prunable_partitions find_test_wallet delete_test_searches save_reconciliation",
  "prepare_hour close_hour sign_hour sign_day secrets_in_use report_worker",
  "trial_balance retained_since price_micros utc_day utc_month uuid_floor",
);
const workerMayRead: Record<string, string[]> = {
  accounts: ["id", "deleted_at"],
  keys: ["id", "wallet_id"],
  top_ups: words("id wallet_id status amount_micros refunded_micros payment_id created_at"),
  payment_comparison: ["compared_until"],
  idempotency: words("wallet_id mode key_hmac search_id claimed_at answer"),
};
const workerMayReadWhole = words(
  "wallets transfers searches budgets budget_windows payments refunds reversals openings",
  "window_openings retention usage_hours usage_days usage_watermark reconciliations adjustments",
  "ledger_watermark ledger_hours ledger_days wallet_hours wallet_checkpoints window_checkpoints",
  "closed_months changes",
);
/** Never a digest, never what was asked or answered. Of the tables with a list, only these columns. */
const operatorMayRead: Record<string, string[]> = {
  wallets: words("id account_id name credited_micros debited_micros held_micros owed_micros suspended_at created_at"),
  transfers: words("id wallet_id search_id kind from_account to_account amount_micros created_at"),
  keys: ["id", "wallet_id", "mode", "name", "start", "scopes", "expires_at", "revoked_at", "created_at"],
  searches: words(
    "id wallet_id key_id mode state price_micros held_at settled_at window_ids category outcome end_user",
    "auth_ms hold_ms upstream_ms rank_ms upstreams",
  ),
  budget_windows: ["id", "budget_id", "subject"],
  unheld_requests: words("id wallet_id key_id mode outcome run end_user transport"),
  usage_hours: words("wallet_id hour key_id mode outcome was_held searches"),
  usage_days: ["wallet_id", "day", "charged_micros"],
  payments: ["payment_id", "transfer_id"],
  adjustments: words(
    "id kind reference wallet_id amount_micros reason operator requested_at state transfer_id owed_transfer_id",
  ),
  payment_notices: words("id reason subject wallet_id amount_micros found_at closed_at"),
  closed_months: ["month", "closed_at", "trial_balance"],
  changes: words(
    "id number at actor operator actor_id act subject account_id wallet_id reason outcome before after visibility",
  ),
  data_keys: ["secret_id"],
  process_reports: ["process_id", "kind", "secret_ids", "seen_at"],
};
const operatorMayReadWhole = words(
  "abandoned_calls accounts audit_log cell cell_transfers members people reconciliations",
  "upstream_days upstream_hours upstream_wallet_days",
);

function words(...lines: string[]): string[] {
  return lines.flatMap((line) => line.split(" "));
}

let database: TestDatabase;
const walletIds: string[] = [];

before(async () => {
  database = await createTestDatabase();
  for (const credit of [50_000n, 70_000n]) {
    const seed = await seedWallet(database.owner, { credit });
    const run = { name: "a run", maxMicros: 10_000n, ttlSeconds: 60 };
    const items = [{ searchId: randomUUIDv7(), ...seed, run, endUser: "ada" }];
    await holdBatch(database.ledger, items);
    await captureBatch(database.ledger, items);
    await seedKeyLimits(database.owner, seed.walletId, { day: 1n });
    await database.owner.query("insert into pb.end_user_settings values ($1, true)", [seed.walletId]);
    await seedWebhooks(seed.walletId);
    await seedRefusal(seed);
    walletIds.push(seed.walletId);
    await seedPayments(database.owner, seed.walletId);
  }
  // The owner plays time, so that usage has rows too.
  await database.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await rollUpUsage(database.owner, new AbortController().signal);
});

async function seedRefusal({ walletId, keyId }: { walletId: string; keyId: string }): Promise<void> {
  const of = { wallet_id: walletId, key_id: keyId, mode: "live" };
  const request = { id: randomUUIDv7(), ...of, outcome: "rate_limited", transport: "http" };
  await database.ledger.query("select pb.write_requests($1, $2)", [randomUUIDv7(), JSON.stringify([request])]);
}

/** Two endpoints, and a delivery to each. */
async function seedWebhooks(walletId: string): Promise<void> {
  await database.owner.query(
    `with endpoints as (
       insert into pb.webhook_endpoints (id, wallet_id, url, description, events, secret)
       select gen_random_uuid(), $1, 'https://hooks.example', '', '{key.created}', '' from generate_series(1, 2)
       returning id
     )
     insert into pb.webhook_deliveries (id, wallet_id, endpoint_id, event_id, due_at, created_at)
     select gen_random_uuid(), $1, w.id, (select id from pb.events where wallet_id = $1 limit 1), now(), now()
     from endpoints w`,
    [walletId],
  );
}

after(() => database.drop());

const sorted = (lines: string[]): string[] => lines.toSorted();

async function lines(sql: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ line: string }>(sql);
  return rows.map((row) => row.line);
}

async function wholeTables(role: string, tables: string[]): Promise<string[]> {
  const columns = await lines(`
    select concat_ws(' ', '${role}', 'select', c.relname || '.' || a.attname) as line
    from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
    where c.relnamespace = 'pb'::regnamespace and c.relname in ('${tables.join("', '")}')`);
  return [...columns, ...tables.map((table) => `${role} select ${table}`)];
}

const everyone = `unnest(array['${[...servingRoles, "public"].join("', '")}']) as role`;

test("the server's roles, and PUBLIC, hold exactly the grants that are written here", async () => {
  const granted = await lines(`
    select concat_ws(' ', role, privilege, c.relname) as line
    from pg_class c, ${everyone}, unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as privilege
    where c.relnamespace = 'pb'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_table_privilege(role, c.oid, privilege)
    union all
    select concat_ws(' ', role, privilege, c.relname || '.' || a.attname)
    from pg_class c join pg_attribute a on a.attrelid = c.oid, ${everyone},
      unnest(array['select', 'insert', 'update', 'references']) as privilege
    where c.relnamespace = 'pb'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f') and not a.attisdropped
      and has_column_privilege(role, c.oid, a.attnum, privilege)
    union all
    select concat_ws(' ', role, privilege, c.relname)
    from pg_class c, ${everyone}, unnest(array['usage', 'select', 'update']) as privilege
    where c.relnamespace = 'pb'::regnamespace and c.relkind = 'S' and has_sequence_privilege(role, c.oid, privilege)
    union all
    select concat_ws(' ', role, 'execute', p.proname)
    from pg_proc p, ${everyone}
    where p.pronamespace = 'pb'::regnamespace and has_function_privilege(role, p.oid, 'execute')
    union all
    select concat_ws(' ', role, privilege, 'schema', n.nspname)
    from pg_namespace n, ${everyone}, unnest(array['usage', 'create']) as privilege
    where n.nspname !~ '^(pg_|information_schema$)' and has_schema_privilege(role, n.oid, privilege)
    union all
    select concat_ws(' ', role, privilege, 'database')
    from ${everyone}, unnest(array['create', 'temporary', 'connect']) as privilege
    where has_database_privilege(role, current_database(), privilege)`);
  assert.deepEqual(
    sorted(granted),
    sorted([
      ...ledgerMayCall.map((name) => `${roles.ledger} execute ${name}`),
      ...tenantMayCall.map((name) => `${roles.tenant} execute ${name}`),
      ...paymentsMayCall.map((name) => `${roles.payments} execute ${name}`),
      ...Object.entries(paymentsMayRead).flatMap(([table, columns]) =>
        columns.map((column) => `${roles.payments} select ${table}.${column}`),
      ),
      ...operatorMayCall.map((name) => `${roles.operator} execute ${name}`),
      ...peopleMayCall.map((name) => `${roles.people} execute ${name}`),
      ...Object.entries(operatorMayRead).flatMap(([table, columns]) =>
        columns.map((column) => `${roles.operator} select ${table}.${column}`),
      ),
      ...workerMayCall.map((name) => `${roles.worker} execute ${name}`),
      ...Object.entries(workerMayRead).flatMap(([table, columns]) =>
        columns.map((column) => `${roles.worker} select ${table}.${column}`),
      ),
      ...(await wholeTables(roles.operator, operatorMayReadWhole)),
      ...(await wholeTables(roles.worker, workerMayReadWhole)),
      `${roles.worker} usage schema graphile_worker`,
      ...Object.entries(tenantMayRead).flatMap(([table, columns]) =>
        columns.map((column) => `${roles.tenant} select ${table}.${column}`),
      ),
      ...servingRoles.flatMap((role) => [
        `${role} usage schema pb`,
        `${role} connect database`,
        `${role} execute read_identity`,
      ]),
      // Of PostgreSQL itself: the empty schema "public" may be looked into by all.
      ...[...servingRoles, "public"].map((role) => `${role} usage schema public`),
    ]),
    "the grants in server/sql/roles.sql (+) and the lists in server/src/db/roles.test.ts (-) differ: edit one of them",
  );
});

interface Relation {
  name: string;
  isPartition: boolean;
  column: string;
}

async function tables(): Promise<Relation[]> {
  const { rows } = await database.owner.query<Relation>(
    `select c.relname as name, c.relispartition as "isPartition",
       (select attname from pg_attribute where attrelid = c.oid and attnum = 1) as column
     from pg_class c where c.relnamespace = 'pb'::regnamespace and c.relkind in ('r', 'p') order by c.relname`,
  );
  return rows;
}

/** PostgreSQL's result when the role really tries: the number of rows, or the SQLSTATE of its refusal. */
async function attempt(db: Pool, sql: string, walletId?: string): Promise<number | string> {
  const client = await db.connect();
  try {
    await client.query("begin");
    if (walletId !== undefined) await client.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
    return (await client.query(sql)).rowCount ?? 0;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error.code ?? "";
    throw error;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

const denied = "42501";

const serving = (): Pool[] => {
  const { ledger, tenant, payments, operator, people, worker } = database;
  return [ledger, tenant, payments, operator, people, worker];
};

test("no role of the server can write to a table or partition, however it tries", async () => {
  const found = await tables();
  assert.ok(found.filter((table) => table.isPartition).length >= 30, "the walk includes partitions");
  for (const { name, column } of found)
    for (const db of serving())
      for (const sql of [
        `insert into pb.${name} default values`,
        `update pb.${name} set ${column} = ${column}`,
        `delete from pb.${name}`,
        `truncate pb.${name}`,
        `drop table pb.${name}`,
        `alter table pb.${name} disable row level security`,
      ])
        assert.equal(await attempt(db, sql, walletIds[0]), denied, sql);
});

test("the roles of the ledger and of people read no table, and the tenant's no partition and nothing but what is written here", async () => {
  for (const { name, column } of await tables()) {
    const sql = `select ${column} from pb.${name}`;
    for (const db of [database.ledger, database.people])
      assert.equal(await attempt(db, sql, walletIds[0]), denied, sql);
    if (!(name in tenantMayRead)) assert.equal(await attempt(database.tenant, sql, walletIds[0]), denied, sql);
  }
});

test("a tenant sees the one wallet named for its transaction, and without a name none", async () => {
  const [own = "", other = ""] = walletIds;
  for (const [table, columns] of Object.entries(tenantMayRead)) {
    const owner = table === "wallets" ? "id" : "wallet_id";
    const sql = `select ${columns.join(", ")} from pb.${table}`;
    const total = await database.owner.query(sql);
    assert.ok((total.rowCount ?? 0) > 1);
    assert.equal(await attempt(database.tenant, sql), 0);
    assert.equal(await attempt(database.tenant, sql, ""), 0);
    assert.equal(await attempt(database.tenant, sql, randomUUIDv7()), 0);
    assert.equal(await attempt(database.tenant, `${sql} where ${owner} = '${other}'`, own), 0, "not another's either");
    const { rowCount } = await database.owner.query(`${sql} where ${owner} = $1`, [own]);
    assert.ok(rowCount && rowCount < (total.rowCount ?? 0));
    assert.equal(await attempt(database.tenant, sql, own), rowCount);
  }
});

test("functions that run as the owner trust no search path but the system's", async () => {
  const trusting = await lines(`
    select p.proname as line from pg_proc p
    where p.pronamespace = 'pb'::regnamespace and p.prosecdef
      and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)`);
  assert.deepEqual(trusting, []);
});

test("only the owner is a member of other roles: those that the admin command switches to", async () => {
  const memberships = await lines(`
    select concat_ws(' ', m.rolname, 'of', r.rolname) as line
    from pg_auth_members a join pg_roles r on r.oid = a.roleid join pg_roles m on m.oid = a.member
    where 'pennyblack' in (split_part(r.rolname, '_', 1), split_part(m.rolname, '_', 1))
      and r.rolname <> 'pg_read_all_stats'`);
  const expected = [roles.tenant, roles.operator, roles.people, roles.worker];
  assert.deepEqual(sorted(memberships), sorted(expected.map((role) => `${roles.owner} of ${role}`)));
  const { rows } = await database.owner.query("select rolinherit as inherits from pg_roles where rolname = $1", [
    roles.owner,
  ]);
  assert.deepEqual(rows, [{ inherits: false }]);
});

test("a server refuses to serve as a superuser, as the owner or one of its members, or past row-level security", async () => {
  for (const db of serving()) assert.equal(await findRoleFault(db), undefined);
  assert.match((await findRoleFault(database.owner)) ?? "", /owns the ledger/);
  const client = new pg.Client({ connectionString: database.superuserUrl });
  await client.connect();
  try {
    assert.match((await findRoleFault(client)) ?? "", /superuser/);
    // Roles belong to the cluster, but to make one is part of the transaction: nothing is left behind.
    const refusalOf = async (...statements: string[]): Promise<string | undefined> => {
      await client.query("begin");
      for (const statement of [...statements, "set local role pb_test_intruder"]) await client.query(statement);
      const refusal = await findRoleFault(client);
      await client.query("rollback");
      return refusal;
    };
    assert.equal(await refusalOf("create role pb_test_intruder"), undefined);
    assert.match((await refusalOf("create role pb_test_intruder bypassrls")) ?? "", /bypasses/);
    assert.match((await refusalOf("create role pb_test_intruder superuser")) ?? "", /superuser/);
    const membership = `grant ${roles.owner} to pb_test_intruder`;
    assert.match((await refusalOf("create role pb_test_intruder noinherit", membership)) ?? "", /owns the ledger/);
  } finally {
    await client.end();
  }
});

test("every role has its limits, even in sessions that set none", async () => {
  const admin = new pg.Client({ connectionString: database.superuserUrl.replace(/[^/]*$/, "postgres") });
  await admin.connect();
  // Other test files may be creating the same roles.
  await admin.query("select pg_advisory_lock(hashtext('pb_template'))");
  try {
    await createRoles(admin, {});
  } finally {
    await admin.end();
  }
  for (const role of Object.keys(roles) as (keyof typeof roles)[]) {
    const client = new pg.Client({ connectionString: withRole(database.superuserUrl, role) });
    await client.connect();
    try {
      assert.notEqual(roleLimits[role]["idle_in_transaction_session_timeout"], "0");
      for (const [setting, limit] of Object.entries(roleLimits[role])) {
        const { rows } = await client.query("select current_setting($1) as value", [setting]);
        assert.deepEqual({ role, setting, value: rows[0]?.value }, { role, setting, value: limit });
      }
    } finally {
      await client.end();
    }
  }
});
