import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { migrate } from "../../src/db/migrate.ts";
import { readSchemaFiles, serverFolder } from "../../src/db/schema-files.ts";
import { priceMicros } from "../../src/lib/money.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { cannotDump, dumpSchema, schemaFile } from "./dump-schema.ts";

const database = await createTestDatabase();
after(() => database.drop());

/** Functions that constraints or policies depend on. Replacing one would not re-check existing rows. */
const functionsInMigrations = ["own_wallet", "price_micros", "transfer_fits_kind"];

async function names(sql: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ name: string }>(sql);
  return rows.map(({ name }) => name);
}

function definitions(folder: string): { name: string; file: string }[] {
  return readdirSync(join(serverFolder, folder))
    .filter((file) => file.endsWith(".sql") && file !== "schema.sql")
    .flatMap((file) =>
      [
        ...readFileSync(join(serverFolder, folder, file), "utf8").matchAll(
          /^create (?:or replace )?function pb\.(\w+)/gm,
        ),
      ].map((match) => ({ name: match[1] ?? "", file: `server/${folder}/${file}` })),
    );
}

test("every function is defined in exactly one file, and every function of the database in one of them", async () => {
  // A later migration replaces the definition of an earlier one.
  const inMigrations = [...new Map(definitions("migrations").map((each) => [each.name, each])).values()];
  const inSql = definitions("sql");
  assert.deepEqual(inMigrations.map(({ name }) => name).toSorted(), functionsInMigrations);
  const all = [...inMigrations, ...inSql];
  for (const { name, file } of all)
    assert.deepEqual(
      all.filter((each) => each.name === name).map((each) => each.file),
      [file],
      `pb.${name}`,
    );
  const existing = await names(
    "select proname as name from pg_proc where pronamespace = 'pb'::regnamespace order by 1",
  );
  assert.deepEqual(existing, all.map(({ name }) => name).toSorted());
});

test("constraints, policies, indexes and defaults depend only on functions defined in migrations", async () => {
  const used = await names(`
    select distinct p.proname as name
    from pg_depend d join pg_proc p on p.oid = d.refobjid and d.refclassid = 'pg_proc'::regclass
    where p.pronamespace = 'pb'::regnamespace
      and d.classid in ('pg_constraint'::regclass, 'pg_policy'::regclass, 'pg_class'::regclass, 'pg_attrdef'::regclass)
    order by 1`);
  assert.deepEqual(
    used.filter((name) => !functionsInMigrations.includes(name)),
    [],
  );
  assert.ok(used.length > 0);
});

test("order.txt lists every file of server/sql", () => {
  const files = readdirSync(join(serverFolder, "sql")).filter((file) => file.endsWith(".sql") && file !== "schema.sql");
  const listed = readFileSync(join(serverFolder, "sql/order.txt"), "utf8").trim().split("\n");
  assert.deepEqual(listed.toSorted(), files.toSorted(), "edit server/sql/order.txt");
});

test("every trigger and policy of the database is in server/sql", async () => {
  const listed = readSchemaFiles()
    .objects.map(({ name }) => name)
    .filter((name) => !name.endsWith(".sql"));
  const existing = await names(`
    select 'policy ' || polname || ' on ' || polrelid::regclass as name
    from pg_policy join pg_class c on c.oid = polrelid where c.relnamespace = 'pb'::regnamespace
    union all
    select 'trigger ' || tgname || ' on ' || tgrelid::regclass from pg_trigger t join pg_class c on c.oid = tgrelid
    where not tgisinternal and not c.relispartition and c.relnamespace = 'pb'::regnamespace`);
  assert.deepEqual(existing.toSorted(), listed.toSorted());
});

test("applying every file of server/sql again changes nothing", { skip: cannotDump }, async () => {
  const before = dumpSchema(database.superuserUrl);
  await database.owner.query("update pb.schema_objects set checksum = '' where name not like 'migrations/%'");
  await migrate(database.ownerUrl, () => undefined);
  assert.equal(dumpSchema(database.superuserUrl), before);
});

test("schema.sql is current", { skip: cannotDump }, () => {
  assert.ok(
    readFileSync(schemaFile, "utf8") === dumpSchema(database.superuserUrl),
    "server/sql/schema.sql is stale. Run: npm run schema",
  );
});

test("the price in constraints and triggers is the price of the product", async () => {
  const [price] = await names("select pb.price_micros()::text as name");
  assert.equal(price, String(priceMicros));
  const literals = await names(`
    select pg_get_constraintdef(oid) as name from pg_constraint 
    where conname = 'live_searches_cost_the_price' and conrelid = 'pb.searches'::regclass
    union all
    select pg_get_triggerdef(oid) from pg_trigger where tgname in ('emit_balance_events', 'emit_budget_event')`);
  assert.equal(literals.length, 3);
  for (const text of literals) {
    const numbers = [...text.matchAll(/\b\d{4,}\b/g)].map(([number]) => number);
    assert.ok(numbers.length > 0 && numbers.every((number) => number === price), text);
  }
});
