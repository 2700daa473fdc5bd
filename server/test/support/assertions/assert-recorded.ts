import assert from "node:assert/strict";
import type { Queryable } from "../../../src/db/pool.ts";

/** A row of the list of changes. */
export interface RecordedChange {
  actor: string;
  operator: string | null;
  act: string;
  subject: string;
  outcome: string;
  visibility: "operator" | "owner";
}

export interface ObservedAct {
  /** Rejects if it fails. */
  run: () => Promise<unknown>;
  /** Fails while nothing can be written to the list of changes. Default: `run`. */
  runInVain?: () => Promise<unknown>;
}

/** Lets `assertRecorded` reject every row of the list of changes. */
export async function prepareRefusal(owner: Queryable): Promise<void> {
  await owner.query(
    `create schema pb_test;
     create function pb_test.refuse() returns trigger language plpgsql as $$ begin raise exception 'no record'; end $$;
     create trigger zz_refuse before insert on pb.changes for each row execute function pb_test.refuse();
     alter table pb.changes disable trigger zz_refuse`,
  );
}

/**
 * An act changes nothing if its row of the list of changes cannot be written: both are one transaction. Otherwise it writes
 * at least one, and these are returned.
 */
export async function assertRecorded(owner: Queryable, { run, runInVain }: ObservedAct): Promise<RecordedChange[]> {
  await owner.query("alter table pb.changes enable trigger zz_refuse");
  const before = await readTables(owner);
  await assert.rejects(runInVain ?? run);
  await owner.query("alter table pb.changes disable trigger zz_refuse");
  await assertUnchanged(owner, before);
  await run();
  const { rows } = await owner.query<RecordedChange>(
    "select actor, operator, act, subject, outcome, visibility from pb.changes where number > $1 order by number",
    [before.get("last change")],
  );
  assert.ok(rows.length > 0, "nothing was recorded");
  return rows;
}

export async function assertUnchanged(owner: Queryable, before: Map<string, string>): Promise<void> {
  const now = await readTables(owner);
  const changed = [...now].filter(([table, digest]) => before.get(table) !== digest).map(([table]) => table);
  assert.deepEqual(changed, [], "rows of these tables were changed without a record");
}

/** Written by running servers independently of any action, such as the time of the last use of a key. */
const ofServers = /^(?:process_reports|tally_writers|upstream_.*|abandoned_calls|usage_.*|worker_.*)$/;

/** A digest of the rows of each table. */
export async function readTables(owner: Queryable): Promise<Map<string, string>> {
  const { rows: tables } = await owner.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'pb'::regnamespace and relkind = 'r'",
  );
  const selects = tables
    .filter(({ name }) => !ofServers.test(name))
    .map(
      ({ name }) => `select '${name}' as name, md5(string_agg(r.text, ',' order by r.text)) as digest
         from (select (to_jsonb(t) - 'last_used_at')::text as text from pb.${name} t) r`,
    );
  const { rows } = await owner.query<{ name: string; digest: string }>(
    `${selects.join(" union all ")} union all select 'last change', coalesce(max(number), 0)::text from pb.changes`,
  );
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}
