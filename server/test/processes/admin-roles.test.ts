import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { commands, createProgram, isCommand } from "../../src/admin/commands.ts";
import { readConfig } from "../../src/config/config.ts";
import type { Pool } from "../../src/db/pool.ts";
import { roles } from "../../src/db/roles.ts";
import { createSigner } from "../../src/lib/sign-jws.ts";
import { createManualSource } from "../../src/payments/manual-payments.ts";
import { decideAdjustment, requestAdjustment } from "../../src/wallet/accounting/adjustments.ts";
import { signTransfer } from "../../src/wallet/accounting/cell-transfers.ts";
import { recordUnreadable } from "../../src/wallet/reversals.ts";
import { captureBatch, holdBatch } from "../../src/wallet/statements.ts";
import { toReport } from "../../src/wallet/upkeep/reconcile.ts";
import { saveReport } from "../../src/wallet/upkeep/save-report.ts";
import { createDatabase } from "../fixture.ts";
import { type AdminRun, runAdmin } from "../support/services/admin-process.ts";

// Each command runs as the narrowest role that can do it, although PENNYBLACK_DIRECT_DATABASE_URL is the owner's.

const db = await createDatabase();
const folder = mkdtempSync(join(tmpdir(), "pb-admin-roles-"));
after(() => rmSync(folder, { recursive: true }));

function admin(databaseUrl: string, ...args: string[]): Promise<AdminRun> {
  const settings = {
    PENNYBLACK_DIRECT_DATABASE_URL: databaseUrl,
    PENNYBLACK_KEY_PEPPERS: `1:${pepper.bytes.toString("base64")}`,
    PENNYBLACK_SIGNING_KEYS: randomBytes(32).toString("base64"),
  };
  return runAdmin(settings, ...args);
}

const pepper = { version: 1, bytes: randomBytes(32) };
const signer = createSigner([Buffer.alloc(32, 1)]) ?? assert.fail();
const seed = await seedData();

/** Arguments of a run that succeeds, or that fails for a reason other than its role. */
interface Run {
  args: string[];
  fails?: RegExp;
}

const wallet = ["--wallet", seed.walletId];
const lastMonth = ["--month", seed.lastMonth];
const runs: Record<"tenant" | "operator" | "people" | "worker", Record<string, Run>> = {
  tenant: { "wallet show": { args: wallet }, "key list": { args: wallet } },
  operator: {
    "account list": { args: [] },
    "account members": { args: ["--account", seed.accountId] },
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
};

/** They create keys, members or money, delete accounts, or change the schema or the secret. */
const ownersCommands = [
  "account create",
  "account delete",
  "account invite",
  "database roles",
  "database setup",
  "key create",
  "secret reseal",
  "secret use",
  "wallet create",
];

async function seedData() {
  const created = await admin(
    db.ownerUrl,
    ..."account create --name acme --owner ada@example.org --balance 900.00 --json".split(" "),
  );
  const { accountId, walletId, liveKey, requestedCredit } = JSON.parse(created.stdout || created.stderr);
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
    walletId,
    searchId,
    adjustmentIds,
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
  const expected = [
    ...ownersCommands.map((name) => `${name}: owner`),
    ...Object.entries(runs).flatMap(([role, byName]) => Object.keys(byName).map((name) => `${name}: ${role}`)),
  ];
  assert.deepEqual(declared.toSorted(), expected.toSorted());
});

for (const role of ["tenant", "operator", "people", "worker"] as const) {
  test(`the role ${role} can run its commands`, async () => {
    for (const [name, { args, fails }] of Object.entries(runs[role])) {
      const run = runInProcess(db[role], name, args);
      await (fails ? assert.rejects(run, fails) : assert.doesNotReject(run, name));
    }
  });

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
      readSettings: (names) => readConfig(names, { DATABASE_URL: db.ledgerUrl }),
      pepper: () => assert.fail("only the owner creates keys"),
      peppers: () => [pepper],
      secrets: () => assert.fail("only the owner converts secrets"),
      signer: () => signer,
      paymentSources: () => [createManualSource(pool)],
      print: () => undefined,
      write: async () => undefined,
      readInput: () => assert.fail("the keys are in a file"),
      operator: "ada",
    });
  });
  await program.parseAsync([...name.split(" "), ...args], { from: "user" });
}

test("a login that is no member of the command's role, or whose URL replaces the role, is rejected", async () => {
  const other = await admin(db.operatorUrl, "reconcile");
  assert.match(other.stderr, /permission denied to set role "pennyblack_worker".*grant pennyblack_tenant, /);
  const replaced = await admin(`${db.ownerUrl}?options=-c%20jit%3Doff`, "reconcile");
  assert.match(replaced.stderr, /^The session does not run as pennyblack_worker\. Remove "options"/);
  const owners = await admin(db.operatorUrl, "account", "delete", "--account", seed.accountId);
  assert.match(owners.stderr, /permission denied for function operator_delete_account/);
  assert.deepEqual([other.exitCode, replaced.exitCode, owners.exitCode], [1, 1, 1]);
});
