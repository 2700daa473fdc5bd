import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Command } from "../../src/admin/command.ts";
import { commands, createProgram, isCommand } from "../../src/admin/commands.ts";
import { readAct } from "../../src/admin/read-values.ts";
import { readConfig } from "../../src/config/config.ts";
import { createPool, type Pool } from "../../src/db/pool.ts";
import { type CommandRole, roles } from "../../src/db/roles.ts";
import { createSigner } from "../../src/lib/sign-jws.ts";
import { setSuspended } from "../../src/operator/operator.ts";
import { createManualSource } from "../../src/payments/manual-payments.ts";
import { adapters } from "../../src/providers/providers.ts";
import { openIncident } from "../../src/status/status.ts";
import { decideAdjustment, requestAdjustment } from "../../src/wallet/accounting/adjustments.ts";
import { signTransfer } from "../../src/wallet/accounting/cell-transfers.ts";
import { recordUnreadable } from "../../src/wallet/reversals.ts";
import { captureBatch, holdBatch } from "../../src/wallet/statements.ts";
import { toReport } from "../../src/wallet/upkeep/reconcile.ts";
import { saveReport } from "../../src/wallet/upkeep/save-report.ts";
import { createDatabase } from "../fixture.ts";
import { assertRecorded, assertUnchanged, prepareRefusal, readTables } from "../support/assertions/assert-recorded.ts";
import { testAct } from "../support/data/test-act.ts";
import { type AdminRun, runAdmin } from "../support/services/admin-process.ts";
import { superuserUrl } from "../support/services/database.ts";
import { testEnvironment, testSecrets } from "../support/services/server.ts";

// Each command runs as the narrowest role that can do it, although PENNYBLACK_DIRECT_DATABASE_URL is the owner's, and writes
// what it changes to the list of changes.

const db = await createDatabase();
const folder = mkdtempSync(join(tmpdir(), "pb-admin-roles-"));
after(() => rmSync(folder, { recursive: true }));

const secrets = [1, 2].map(() => randomBytes(32).toString("base64")).join(",");

function admin(databaseUrl: string, ...args: string[]): Promise<AdminRun> {
  const settings = {
    ...testEnvironment(db),
    PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl,
    PENNYBLACK_DIRECT_DATABASE_URL: databaseUrl,
    PENNYBLACK_ADMIN_DATABASE_URL: superuserUrl,
    PENNYBLACK_KEY_PEPPERS: `1:${pepper.bytes.toString("base64")}`,
    PENNYBLACK_SECRET: secrets,
    PENNYBLACK_TRIAL_CREDIT: "0.50",
  };
  return runAdmin(settings, ...args);
}

const pepper = { version: 1, bytes: randomBytes(32) };
const signer = createSigner([Buffer.alloc(32, 1)]) ?? assert.fail();
const seed = await seedData();
await prepareRefusal(db.owner);

/** Arguments of a run that succeeds, or that fails for a reason other than its role. */
interface Run {
  args: string[];
  fails?: RegExp;
}

const wallet = ["--wallet", seed.walletId];
const lastMonth = ["--month", seed.lastMonth];
const runs: Record<CommandRole, Record<string, Run>> = {
  tenant: { "wallet show": { args: wallet }, "key list": { args: wallet } },
  operator: {
    "account list": { args: [] },
    "account members": { args: ["--account", seed.accountId] },
    find: { args: ["--text", seed.searchId] },
    "wallet changes": { args: ["--wallet", seed.otherWalletId] },
    "wallet suspend": { args: wallet },
    "wallet resume": { args: wallet },
    "key revoke": { args: [...wallet, "--key", seed.keyId] },
    "keys leaked": { args: ["--file", seed.leaked] },
    credit: { args: [...wallet, ..."--amount 1.00 --kind invoice --reference INV-1 --reason paid".split(" ")] },
    "payments list": { args: [] },
    "payments close": { args: ["--notice", seed.noticeId] },
    "payments show": { args: ["--payment", "manual:INV-1"] },
    refund: { args: ["--request-id", seed.searchId, "--reason", "empty"] },
    "adjust request": {
      args: [...wallet, ..."--kind breakage --amount 0.50 --reference B-1 --reason closed".split(" ")],
    },
    "adjust approve": { args: ["--adjustment", seed.adjustmentIds[0] ?? "", "--by", "bob"] },
    "adjust reject": { args: ["--adjustment", seed.adjustmentIds[1] ?? "", "--by", "bob"] },
    "adjust list": { args: [] },
    "wallet top-up": { args: [...wallet, "--amount", "1.00", "--payment", "pi_2"] },
    "month close": { args: lastMonth },
    "month trial-balance": { args: lastMonth },
    "month journal": { args: [...lastMonth, "--format", "csv"] },
    audit: { args: [] },
    margin: { args: [] },
    "incident open": { args: ["--title", "Slow", "--text", "We are looking into it.", "--since", "2026-01-31T12:00Z"] },
    "incident update": {
      args: ["--incident", seed.incidentIds[0] ?? "", "--text", "Still slow.", "--impact", "outage"],
    },
    "incident close": { args: ["--incident", seed.incidentIds[1] ?? "", "--text", "Resolved."] },
    "incident list": { args: [] },
    "secret status": { args: [] },
    "database accept": { args: [] },
    // The database has no cell, which the functions that book a transfer report.
    "transfer out": { args: seed.transfer, fails: /names another cell/ },
    "transfer in": { args: [...seed.transfer, "--jwks", seed.jwks], fails: /names another cell/ },
  },
  people: { "console sign-in-link": { args: ["--email", "ada@example.org"] } },
  worker: {
    reconcile: { args: [] },
    verify: { args: ["--roots", seed.roots], fails: /differences/ },
  },
  // They create keys, members or money, delete accounts, or change the schema or the secret.
  owner: {
    "account create": { args: ["--name", "Beta", "--owner", "eve@example.org"] },
    "account delete": { args: ["--account", seed.otherAccountId] },
    "account invite": { args: ["--account", seed.accountId, "--email", "bob@example.org", "--role", "viewer"] },
    "database setup": { args: [] },
    "database roles": { args: [] },
    "key create": { args: [...wallet, "--mode", "live", "--name", "agent", "--budget-day", "1.00"] },
    "secret reseal": { args: [] },
    "secret replace-data-keys": { args: ["--yes"] },
    "wallet create": { args: ["--name", "Gamma", "--balance", "1.00"] },
  },
};

async function seedData() {
  const created = await admin(
    db.ownerUrl,
    ..."account create --name acme --owner ada@example.org --balance 900.00 --json".split(" "),
  );
  const { accountId, walletId, liveKey, requestedCredit } = JSON.parse(created.stdout || created.stderr);
  const other = await admin(db.ownerUrl, ..."account create --name other --owner bo@example.org --json".split(" "));
  await decideAdjustment(db.operator, { operator: "bob", reason: "checked", id: requestedCredit, isApproved: true });
  const { rows } = await db.owner.query<{ id: string }>("select id from pb.keys where wallet_id = $1 order by id", [
    walletId,
  ]);
  const [liveId = "", managementId = ""] = rows.map(({ id }) => id);
  const searchId = randomUUIDv7();
  await holdBatch(db.ledger, [{ searchId, walletId, keyId: liveId }]);
  await captureBatch(db.ledger, [{ searchId, walletId }]);
  await recordUnreadable(db.payments, { id: "pi_1", walletId });
  const notices = await db.owner.query<{ id: string }>("select id from pb.payment_notices");
  const adjustmentIds: string[] = [];
  for (const reference of ["P-1", "P-2"]) {
    const payout = { operator: "ada", reason: "closed", kind: "payout", reference, walletId } as const;
    adjustmentIds.push((await requestAdjustment(db.operator, { ...payout, amount: 400_000_000n })).id ?? "");
  }
  const incidentIds: string[] = [];
  for (const title of ["Slow", "Down"])
    incidentIds.push(
      await openIncident(db.operator, testAct, { title, impact: "degraded", text: "?", openedAt: undefined }),
    );
  await saveReport(db.worker, toReport(new Date().toISOString(), []));
  const lastMonth = new Date();
  lastMonth.setUTCDate(0);
  const leaked = join(folder, "leaked.txt");
  writeFileSync(leaked, liveKey);
  writeFileSync(join(folder, "2026-01-01.jsonl"), "not a root\n");
  const document = join(folder, "transfer.jws");
  const cells = { source: "us1", sourceWallet: walletId, target: "us2", targetWallet: walletId };
  writeFileSync(document, await signTransfer(signer, { ...cells, reference: "T-1", amount: "1.00" }));
  const jwks = join(folder, "jwks.json");
  writeFileSync(jwks, JSON.stringify(signer.jwks));
  return {
    accountId,
    otherWalletId: JSON.parse(other.stdout).walletId as string,
    otherAccountId: JSON.parse(other.stdout).accountId as string,
    walletId,
    searchId,
    adjustmentIds,
    incidentIds,
    leaked,
    keyId: managementId,
    noticeId: notices.rows[0]?.id ?? "",
    lastMonth: lastMonth.toISOString().slice(0, 7),
    roots: folder,
    transfer: ["--document", document, "--reason", "moved"],
    jwks,
  };
}

test("every admin command declares the narrowest role that can do it", () => {
  const declared = Object.entries(commands).flatMap(([noun, group]) =>
    isCommand(group)
      ? [`${noun}: ${group.role}`]
      : Object.entries(group).map(([verb, { role }]) => `${noun} ${verb}: ${role}`),
  );
  const expected = Object.entries(runs).flatMap(([role, byName]) =>
    Object.keys(byName).map((name) => `${name}: ${role}`),
  );
  assert.deepEqual(declared.toSorted(), expected.toSorted());
});

for (const [role, byName] of Object.entries(runs) as [CommandRole, Record<string, Run>][]) {
  for (const [name, run] of Object.entries(byName)) {
    const runIt = () => (role === "owner" ? runAsOwner(name, run.args) : runAs(role, name, run));
    // It creates the roles of the cluster, before there is a database.
    if (findCommand(name).changes !== true || name === "database roles") {
      test(`${name}: runs as its role and changes nothing`, async () => {
        const before = await readTables(db.owner);
        await runIt();
        await assertUnchanged(db.owner, before);
      });
      continue;
    }
    test(`${name}: runs as its role and records what it changes`, async (t) => {
      // So that there is something to apply.
      if (name === "database setup")
        await db.owner.query("update pb.schema_objects set checksum = '' where name = 'ids.sql'");
      const runInVain = () => (role === "owner" ? runAsOwner(name, run.args) : runAs(role, name, { args: run.args }));
      const recorded = await assertRecorded(db.owner, { run: runIt, runInVain });
      for (const { actor, operator, act, subject, outcome } of recorded) {
        assert.deepEqual([actor, operator], ["operator", run.args.includes("--by") ? "bob" : userInfo().username]);
        t.diagnostic(`npm run admin -- ${name}: ${act} ${subject} ${outcome}`);
      }
    });
  }
}

function findCommand(name: string): Command {
  const [noun = "", verb = ""] = name.split(" ");
  const group = commands[noun];
  return (group && (isCommand(group) ? group : group[verb])) ?? assert.fail(`there is no command ${name}`);
}

async function runAsOwner(name: string, args: string[]): Promise<void> {
  const { exitCode, stderr } = await admin(db.ownerUrl, ...name.split(" "), ...args);
  assert.equal(exitCode, 0, stderr);
}

async function runAs(role: Exclude<CommandRole, "owner">, name: string, { args, fails }: Run): Promise<void> {
  const isReadOnly = !findCommand(name).changes;
  const pool = createPool({ url: db[`${role}Url`], isReadOnly, name, connections: 2, onIdleError: () => undefined });
  try {
    const run = runInProcess(pool, name, args);
    await (fails ? assert.rejects(run, fails) : run);
  } finally {
    await pool.end();
  }
}

test("a command that does not declare changes cannot make any", async () => {
  const pool = createPool({ url: db.operatorUrl, isReadOnly: true, name: "t", connections: 1, onIdleError: () => {} });
  await assert.rejects(setSuspended(pool, testAct, seed.walletId, true), { code: "25006" });
  await pool.end();
});

for (const role of ["tenant", "operator", "people", "worker"] as const) {
  test(`with the owner's login, a command of the role ${role} can do no more than the role`, async () => {
    const [name, { args }] = Object.entries(runs[role])[0] ?? assert.fail();
    await db.owner.query(`revoke usage on schema pb from ${roles[role]}`);
    try {
      const { exitCode, stderr } = await admin(db.ownerUrl, ...name.split(" "), ...args);
      assert.match(stderr, /^The database login lacks a privilege: permission denied for schema pb\./);
      assert.equal(exitCode, 1);
    } finally {
      await db.owner.query(`grant usage on schema pb to ${roles[role]}`);
    }
  });
}

async function runInProcess(pool: Pool, name: string, args: string[]): Promise<void> {
  const program = createProgram(async (command, values) => {
    assert.ok("run" in command, name);
    await command.run({
      values,
      pool,
      readSettings: (names) => readConfig(adapters, names, { DATABASE_URL: db.ledgerUrl }),
      pepper: () => assert.fail("only the owner creates keys"),
      peppers: () => [pepper],
      secrets: () => testSecrets,
      signer: () => signer,
      paymentSources: () => [createManualSource(pool)],
      print: () => undefined,
      write: async () => undefined,
      readInput: () => assert.fail("the keys are in a file"),
      act: readAct(values),
    });
  });
  await program.parseAsync([...name.split(" "), ...args], { from: "user" });
}

test("a login that is not a member of the command's role, or whose URL replaces the role, is rejected", async () => {
  const other = await admin(db.operatorUrl, "reconcile");
  assert.match(other.stderr, /permission denied to set role "pennyblack_worker".*grant pennyblack_tenant, /);
  const replaced = await admin(`${db.ownerUrl}?options=-c%20jit%3Doff`, "reconcile");
  assert.match(replaced.stderr, /^The session does not run as pennyblack_worker\. Remove "options"/);
  const owners = await admin(db.operatorUrl, "account", "delete", "--account", seed.accountId);
  assert.match(owners.stderr, /permission denied for function operator_delete_account/);
  assert.deepEqual([other.exitCode, replaced.exitCode, owners.exitCode], [1, 1, 1]);
});
