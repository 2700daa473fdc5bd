import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "node:test";
import { createDatabase } from "../../test/fixture.ts";
import { until } from "../../test/support/assertions/until.ts";
import { lockWallet } from "../../test/support/data/lock-wallet.ts";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { type DataKey, installation, openDataKey, sealNewDataKey } from "../lib/data-key.ts";
import { createSecrets, type Secrets } from "../lib/secrets.ts";
import { countDataKeys, createDataKeys, replaceDataKeys, resealDataKeys } from "./data-keys.ts";

const [one, two] = [createSecrets([randomBytes(32)]), createSecrets([randomBytes(32)])];
const db = await createDatabase();
let unopened = 0;
const dataKeysOf = (secrets: Secrets) =>
  createDataKeys({ tenant: db.tenant, secrets, onUnopened: () => void (unopened += 1) });

const textOf = ({ claim }: DataKey): string => claim.export().toString("hex");
const hasCode = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

test("a wallet gets a data key on first need, and keeps it", async () => {
  const { walletId } = await seedWallet(db.owner);
  assert.equal(await dataKeysOf(one).find({ walletId }), undefined);
  const opened = await Promise.all(Array.from({ length: 10 }, () => dataKeysOf(one).open({ walletId })));
  const found = (await dataKeysOf(one).find({ walletId })) ?? assert.fail();
  assert.deepEqual(new Set(opened.map(textOf)), new Set([textOf(found)]));
  const { walletId: other } = await seedWallet(db.owner);
  assert.notEqual(textOf(await dataKeysOf(one).open({ walletId: other })), textOf(found));
});

test("two servers that found no data key get the same one", async () => {
  const seed = await seedWallet(db.owner);
  const lock = await lockWallet(db, seed);
  const created = [1, 2].map(() =>
    db.owner.query<{ sealed: Buffer }>(
      `with own as materialized (select set_config('pb.wallet_id', $1, true) as id)
       select pb.own_data_key($2) as sealed from own where own.id <> ''`,
      [seed.walletId, sealNewDataKey(one, seed.walletId)],
    ),
  );
  await until("both have found none and wait for the wallet", async () => {
    const { rows } = await db.owner.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length === 2;
  });
  await lock.release();
  const [first, second] = (await Promise.all(created)).map(({ rows }) => rows[0]?.sealed.toString("hex"));
  assert.ok(first);
  assert.equal(first, second);
});

test("a key that no listed secret opens is neither used nor replaced", async () => {
  const { walletId } = await seedWallet(db.owner);
  const key = textOf(await dataKeysOf(one).open({ walletId }));
  await assert.rejects(dataKeysOf(two).open({ walletId }), hasCode("ledger_unavailable"));
  await assert.rejects(dataKeysOf(two).find({ walletId }), hasCode("ledger_unavailable"));
  assert.equal(unopened, 2);
  assert.equal(textOf(await dataKeysOf(one).open({ walletId })), key);
});

test("a wallet of a deleted account gets no data key", async () => {
  const { walletId } = await seedWallet(db.owner);
  await db.owner.query("select pb.delete_account(account_id) from pb.wallets where id = $1", [walletId]);
  await assert.rejects(dataKeysOf(one).open({ walletId }), hasCode("api_key_revoked"));
  assert.equal(await dataKeysOf(one).find({ walletId }), undefined);
});

test("several pages of keys are sealed again or replaced, and the installation's key is replaced only if it is lost", async () => {
  const ids = Array.from({ length: 2_100 }, () => randomUUID());
  await db.owner.query("delete from pb.data_keys");
  const all = [installation, ...ids];
  await db.owner.query("insert into pb.data_keys select * from unnest($1::uuid[], $2::bytea[])", [
    all,
    all.map((id) => sealNewDataKey(one, id)),
  ]);
  const read = async (secrets: Secrets): Promise<Map<string, string>> => {
    const { rows } = await db.owner.query<{ id: string; sealed: Buffer }>(
      "select wallet_id as id, sealed from pb.data_keys",
    );
    return new Map(rows.map(({ id, sealed }) => [id, textOf(openDataKey(secrets, id, sealed))]));
  };
  const keys = await read(one);
  const both = { writer: two.writer, all: [two.writer, one.writer] };
  assert.deepEqual(await resealDataKeys(db.owner, both), { resealed: 2_101, current: 0, failed: 0 });
  assert.deepEqual(await read(two), keys);
  assert.deepEqual(await countDataKeys(db.owner), [{ secretId: two.writer.id, keys: 2_101 }]);

  assert.equal(await replaceDataKeys(db.owner, two), 2_100);
  const replaced = await read(two);
  assert.equal(replaced.get(installation), keys.get(installation));
  for (const id of ids) assert.notEqual(replaced.get(id), keys.get(id));
  assert.equal(await replaceDataKeys(db.owner, one), 2_101, "after the loss of a secret");
  assert.equal((await read(one)).size, 2_101);
});
