import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { signRoots } from "../../src/evidence/sign-roots.ts";
import { createSigner } from "../../src/lib/sign-jws.ts";
import { formatReport } from "../../src/wallet/upkeep/reconcile.ts";
import { reconcileHours } from "../../src/wallet/upkeep/reconcile-hours.ts";
import { dropOldDays } from "../../src/wallet/upkeep/retention.ts";
import { saveReport } from "../../src/wallet/upkeep/save-report.ts";
import { seedClosedLedger } from "../evidence/seed-ledger.ts";
import { createDatabase } from "../fixture.ts";
import { until } from "../support/assertions/until.ts";
import { passWatermarks, waitMs } from "../support/data/close-due-hours.ts";
import { restartHours } from "../support/data/restart-hours.ts";
import { seedChange } from "../support/data/seed-change.ts";
import { seedOldDay } from "../support/data/seed-old-day.ts";
import { withoutTriggers } from "../support/data/without-triggers.ts";
import { type AdminRun, runAdmin } from "../support/services/admin-process.ts";
import { testSigningSeed } from "../support/services/server.ts";
import { addJob, startWorker } from "./worker-fixture.ts";

// The worker signs and exports the roots of closed hours, and the admin command verifies the ledger against them.

const db = await createDatabase();
const [wallet] = await seedClosedLedger(db, async (_wallets, endMs) => {
  const at = new Date(endMs - 60_000);
  await seedChange(db.owner, { at, act: "notice.close", subject: "1", reason: "paid twice" });
});
const folder = mkdtempSync(join(tmpdir(), "pb-verify-"));
after(() => rmSync(folder, { recursive: true }));
const roots = join(folder, "roots");
const signing = { PENNYBLACK_SIGNING_KEYS: testSigningSeed.toString("base64"), PENNYBLACK_ROOTS: roots };

function verify(environment: Record<string, string>, ...options: string[]): Promise<AdminRun> {
  const settings = { PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl, ...environment };
  return runAdmin(settings, "verify", "--roots", roots, ...options);
}

test("the worker signs closed hours, exports them and logs each root", async () => {
  const worker = await startWorker(db, signing);
  await addJob(db, "sign_roots");
  const countUnsigned = async (): Promise<number> => {
    const { rows } = await db.owner.query("select from pb.ledger_hours where signed is null");
    return rows.length;
  };
  await until("every hour is signed", async () => (await countUnsigned()) === 0);
  await until("the days are exported", async () => existsSync(roots) && (await readdir(roots)).length >= 2);
  assert.match(
    worker.logged(),
    /"level":30,.*"of":"[\d-]+T\d\d:00:00Z","root":"[0-9a-f]{64}","signed":"\S+","msg":"signed root"/,
  );
  await worker.stop();
});

test("admin verify accepts the ledger, and reports an entry that was deleted and a reason that was changed", async () => {
  const jwks = join(folder, "jwks.json");
  writeFileSync(jwks, JSON.stringify(createSigner([testSigningSeed])?.jwks));
  for (const [options, environment] of [
    [["--jwks", jwks], {}],
    [[], { PENNYBLACK_SIGNING_KEYS: signing.PENNYBLACK_SIGNING_KEYS }],
  ] as const) {
    const clean = await verify(environment, ...options);
    assert.match(clean.stdout, /^\d+ closed hours, \d+ signed roots, \d+ entries recomputed\.\nNo differences\.\n$/);
    assert.equal(clean.exitCode, 0, clean.stderr);
  }
  assert.equal((await verify({})).exitCode, 2);
  const client = new pg.Client({ connectionString: db.superuserUrl });
  await client.connect();
  await client.query("set session_replication_role = replica");
  await client.query("delete from pb.transfers where wallet_id = $1 and kind = 'top_up'", [wallet?.walletId]);
  await client.query("update pb.changes set reason = 'refunded'");
  await client.end();
  const found = await verify({}, "--jwks", jwks);
  assert.match(found.stdout, /^records \S+T23:00:00Z the list of changes or adjustments changed/m);
  assert.match(found.stdout, new RegExp(`^digest \\S+ wallet ${wallet?.walletId}: the digest of 2 entries`, "m"));
  assert.match(found.stderr, /^\d differences\./);
  assert.equal(found.exitCode, 1);
});

test("admin verify checks archived hours by their digests, even if hours began after days were archived", async () => {
  const old = await createDatabase();
  const { day, walletId } = await seedOldDay(old.owner, 60);
  await seedOldDay(old.owner, 38);
  await passWatermarks(old.owner);
  const signer = createSigner([testSigningSeed]) ?? assert.fail();
  const exported = async (name: string): Promise<() => Promise<AdminRun>> => {
    const report = await reconcileHours(old.owner, { waitMs });
    assert.ok(report?.isClean, report && formatReport(report));
    await saveReport(old.owner, report);
    const path = join(folder, name);
    await signRoots(old.owner, { signer, publicUrl: "http://search.test", folder: path });
    const settings = { ...signing, PENNYBLACK_DIRECT_DATABASE_URL: old.ownerUrl };
    return () => runAdmin(settings, "verify", "--roots", path);
  };
  const archives = { days: 40, folder: join(folder, "archives") };
  const clean = /, 6 entries recomputed\.\nEntries before \S+ may be archived.*\nNo differences\.\n$/;

  const verifyOld = await exported("before");
  assert.match((await verifyOld()).stdout, /, 12 entries recomputed\.\nNo differences\.\n$/);
  assert.equal((await dropOldDays(old.owner, archives, new AbortController().signal)).length, 1);
  assert.match((await verifyOld()).stdout, clean);
  const ofDay = `wallet_id = '${walletId}' and hour < date '${day}' + 1`;
  await old.owner.query(withoutTriggers(`update pb.wallet_hours set digest = sha256(digest) where ${ofDay}`));
  const found = await verifyOld();
  assert.match(found.stdout, new RegExp(`^root ${day}T12:00:00Z the signed root is`, "m"));
  assert.equal(found.exitCode, 1);

  await restartHours(old.owner);
  const verifyNew = await exported("after");
  assert.match((await verifyNew()).stdout, clean);
});
