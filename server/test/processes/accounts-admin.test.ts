import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { acceptInvitation } from "../../src/accounts/accounts.ts";
import { mintKey } from "../../src/keys/key-format.ts";
import { createKey, createKeys } from "../../src/keys/keys.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase } from "../support/services/database.ts";
import { testEnvironment, testPepper } from "../support/services/server.ts";
import { runScript } from "./run-script.ts";

// Operator commands for accounts and leaked keys.

const db = await createTestDatabase();
const folder = mkdtempSync(join(tmpdir(), "pennyblack-"));
const environment = {
  ...testEnvironment(db),
  PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl,
  PENNYBLACK_TRIAL_CREDIT: "0.50",
};

after(async () => {
  rmSync(folder, { recursive: true });
  await db.drop();
});

async function succeed(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runAdmin(environment, ...args);
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

async function fail(...args: string[]): Promise<{ exitCode: number | null; stderr: string }> {
  const { exitCode, stderr } = await runAdmin(environment, ...args);
  assert.notEqual(exitCode, 0);
  return { exitCode, stderr };
}

interface CreatedAccount {
  accountId: string;
  walletId: string;
  liveKey: string;
}

async function createAccount(owner: string, ...options: string[]): Promise<CreatedAccount> {
  return JSON.parse(await succeed("account", "create", "--name", "Acme", "--owner", owner, ...options, "--json"));
}

test("an account is created with its owner and one trial, then listed, joined and deleted", async () => {
  const early = await fail("account", "create", "--name", "One", "--owner", "ada@acme.test", "--trial");
  assert.match(early.stderr, /Trial credit is not configured/);
  const set = "Set the trial credit to 0.50 USD, for up to 100 accounts per day.\n";
  assert.equal(await succeed("database", "setup"), set);
  assert.equal(await succeed("database", "setup"), "The database is up to date.\n");
  const { accountId, walletId } = await createAccount("Ada@Acme.test", "--trial");
  const again = await succeed("account", "create", "--name", "Two", "--owner", "ada+2@acme.test", "--trial");
  assert.match(again, /this person already had one/);
  assert.match(await succeed("wallet", "show", "--wallet", walletId), /balance +0\.50 USD/);

  const invite = ["account", "invite", "--account", accountId, "--email", "bob@acme.test", "--role", "developer"];
  const { token } = JSON.parse(await succeed(...invite, "--json"));
  await acceptInvitation(db.owner, { token, name: "Bob" });
  assert.match(
    await succeed("account", "members", "--account", accountId),
    /ada@acme\.test .*\n.*bob@acme\.test +Bob +developer/,
  );
  assert.match(
    await succeed("account", "list", "--email", "bob@acme.test"),
    new RegExp(`${accountId} +Acme +active +ada@acme\\.test +${walletId} +0\\.50`),
  );

  const rejected = await fail("account", "delete", "--account", accountId);
  assert.match(rejected.stderr, /0\.50 USD left\. Nothing was deleted/);
  assert.match(await succeed("account", "delete", "--account", accountId, "--forfeit"), /^Deleted\./);
  assert.match(
    await succeed("account", "list"),
    new RegExp(`${accountId} +- +deleted +- +${walletId} \\(suspended\\) +-`),
  );
  assert.match(await succeed("reconcile"), /Clean at/);
});

test("invalid arguments are rejected with exit code 2", async () => {
  for (const args of [
    ["account", "create", "--name", "Acme", "--owner", "no-address"],
    ["account", "create", "--owner", "ada@acme.test"],
    ["account", "invite", "--account", "x", "--email", "a@b.test", "--role", "owner"],
    ["keys"],
  ])
    assert.equal((await fail(...args)).exitCode, 2, args.join(" "));
});

test("leaked keys are found in any text, revoked with that reason, and never printed in full", async () => {
  const { walletId, liveKey } = await createAccount("owner@leak.test");
  const { id, key: second } = await createKey(db.owner, testPepper, { walletId, mode: "test", name: "second" });
  const [unknown, revoked] = [mintKey("live"), mintKey("mgmt")];
  const typo = `${liveKey.slice(0, -1)}${liveKey.endsWith("0") ? "1" : "0"}`;
  const file = join(folder, "list.txt");
  writeFileSync(file, `{"match":"KEY=${liveKey}"}\n${second},${second}\n${unknown} ${revoked}\n${typo}\n`);
  const shown = await succeed("keys", "leaked", "--file", file);
  assert.match(shown, new RegExp(`${liveKey.slice(0, 12)}\\.\\.\\. +revoked +\\S+ +${walletId} +owner@leak\\.test`));
  assert.match(shown, new RegExp(`${unknown.slice(0, 12)}\\.\\.\\. +not ours`));
  assert.match(shown, /Revoked 2 of 4 keys/);
  for (const key of [liveKey, second, unknown, revoked])
    assert.ok(!shown.includes(key.slice(0, 16)), "no key is printed in full");
  await assert.rejects(createKeys(db.ledger, [testPepper]).authenticate(liveKey, "192.0.2.1", "search"), {
    code: "api_key_revoked",
  });
  const { rows } = await db.owner.query("select revoked_reason from pb.keys where id = $1", [id]);
  assert.deepEqual(rows, [{ revoked_reason: "leaked" }]);
  assert.match(await succeed("keys", "leaked", "--file", file), /already revoked/);
});

test("leaked keys can be piped in, and input without a key is an error", async () => {
  const { liveKey } = await createAccount("owner@pipe.test");
  const { stdout } = await runScript("admin/main.ts", ["keys", "leaked", "--json"], {
    environment,
    input: `${liveKey}\n`,
  });
  const [result] = JSON.parse(stdout);
  assert.deepEqual([result.outcome, result.owners], ["revoked", ["owner@pipe.test"]]);
  assert.match((await fail("keys", "leaked")).stderr, /No keys found/);
});
