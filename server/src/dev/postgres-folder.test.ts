import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openPostgresFolder } from "./postgres-folder.ts";
import { findAccount } from "./postgres-programs.ts";

const account = findAccount();
const asOtherAccount = { skip: account === undefined && "PostgreSQL runs under this account" };

test("data that PostgreSQL's account cannot reach is in /var/tmp, and only its own is used", asOtherAccount, (t) => {
  const closed = mkdtempSync(join(tmpdir(), "pb-test-closed-"));
  const folder = openPostgresFolder(join(closed, "postgres"), { account, reset: false });
  t.after(() => {
    for (const each of [closed, folder]) rmSync(each, { recursive: true, force: true });
  });
  assert.match(folder, /^\/var\/tmp\/pennyblack-dev-[0-9a-f]{12}$/);
  assert.deepEqual([statSync(folder).uid, statSync(folder).mode & 0o777], [account?.uid, 0o700]);
  mkdirSync(join(folder, "data"));
  assert.equal(openPostgresFolder(join(closed, "postgres"), { account, reset: false }), folder);
  assert.ok(existsSync(join(folder, "data")), "a second start uses the same data");

  openPostgresFolder(join(closed, "postgres"), { account, reset: true });
  assert.ok(!existsSync(join(folder, "data")), "reset deletes it");

  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  assert.throws(() => openPostgresFolder(join(closed, "postgres"), { account, reset: false }), /belongs to another/);
});

test("data is in the given folder if PostgreSQL's account can reach it", (t) => {
  const open = mkdtempSync(join(tmpdir(), "pb-test-open-"));
  t.after(() => rmSync(open, { recursive: true }));
  chmodSync(open, 0o711);
  const folder = openPostgresFolder(join(open, "postgres"), { account, reset: false });
  assert.equal(folder, join(open, "postgres"));
  assert.equal(statSync(folder).uid, account?.uid ?? process.getuid?.());
});
