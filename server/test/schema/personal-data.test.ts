import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createDatabase } from "../fixture.ts";

// docs/personal-data.md lists every column that can contain personal data. A new column of a type that can hold a text, an address
// or encrypted data belongs on the page or, if it never contains personal data, in the list below.

const page = readFileSync(new URL("../../../docs/personal-data.md", import.meta.url), "utf8");
const listed = new Set([...page.matchAll(/`(\w+\.\w+)`/g)].map(([, column = ""]) => column));

/**
 * Names that we choose, ids of objects, digests of other rows, and secrets of servers. `keys.sources` has domains whose pages a key
 * may return or not.
 */
const notPersonal = `
  accounts.label acts.act acts.visibility adjustments.kind adjustments.state budget_requests.state budgets.period cell.name
  cell_transfers.reference cell_transfers.source_cell cell_transfers.target_cell changes.act changes.actor
  changes.outcome changes.salt changes.values_digest changes.visibility closed_days.searches_sum
  closed_days.transfers_sum closed_months.trial_balance data_keys.sealed data_keys.secret_id event_throttles.type
  events.type hour_trees.hashes keys.compat keys.digest keys.revoked_reason keys.scopes keys.max_run keys.sources keys.start
  incident_updates.text incidents.impact incidents.title ledger_accounts.account ledger_accounts.name ledger_accounts.type ledger_days.root ledger_days.signed
  ledger_hours.records_digest ledger_hours.root ledger_hours.signed migrations.name payment_events.event_id
  payment_events.outcome payment_events.type payment_notices.reason process_reports.kind process_reports.secret_ids
  reconciliations.checks reversals.kind reversals.reversal_id reversals.state schema_objects.checksum
  schema_objects.name searches.category searches.idempotency_hmac searches.outcome searches.upstreams status_days.outcome top_ups.failure
  top_ups.fingerprint top_ups.key_hmac top_ups.kind top_ups.status unheld_requests.outcome unheld_requests.transport
  upstream_days.outcome upstream_days.provider upstream_hours.outcome upstream_hours.provider
  upstream_wallet_days.provider usage_days.category usage_days.outcome usage_hours.category usage_hours.outcome
  wallet_checkpoints.digest wallet_hours.digest webhook_deliveries.state webhook_endpoints.disabled_reason
  webhook_endpoints.events webhook_endpoints.previous_secret webhook_endpoints.secret worker_tasks.task
`;

const { owner } = await createDatabase();
const { rows } = await owner.query<{ name: string }>(
  `select c.relname || '.' || a.attname as name
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = 'pb'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and a.atttypid in ('text'::regtype, 'varchar'::regtype, 'text[]'::regtype, 'jsonb'::regtype, 'bytea'::regtype,
       'inet'::regtype, 'cidr'::regtype, 'cidr[]'::regtype)
   order by 1`,
);
const stored = new Set(rows.map(({ name }) => name));
const excluded = new Set(notPersonal.split(/\s+/).filter((name) => name !== ""));

test("every column that could contain personal data is on the page or known to contain none", () => {
  const unknown = [...stored].filter((name) => !listed.has(name) && !excluded.has(name));
  assert.deepEqual(unknown, [], "describe it in docs/personal-data.md");
});

test("the page and the list name only columns that exist, each once", () => {
  assert.deepEqual(
    [...listed, ...excluded].filter((name) => !stored.has(name)),
    [],
  );
  assert.deepEqual([...listed.intersection(excluded)], []);
});
