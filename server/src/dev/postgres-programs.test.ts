import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findAccount, findPrograms, locatePackage } from "./postgres-programs.ts";

test("a package that is read-only or inaccessible to PostgreSQL's account is copied and runs", (t) => {
  const account = findAccount();
  const closed = mkdtempSync(join(tmpdir(), "pb-test-closed-"));
  const temporaryFolder = mkdtempSync(join(tmpdir(), "pb-test-open-"));
  const packaged = join(closed, "native");
  t.after(() => {
    chmodSync(join(packaged, "lib"), 0o700);
    for (const folder of [closed, temporaryFolder]) rmSync(folder, { recursive: true });
  });
  if (account) chownSync(temporaryFolder, account.uid, account.gid);
  // Without symbolic links, as npm unpacks it.
  const isFile = (path: string): boolean => !lstatSync(path).isSymbolicLink();
  cpSync(locatePackage(), packaged, { recursive: true, filter: isFile });
  chmodSync(join(packaged, "lib"), 0o500);

  const programs = findPrograms(temporaryFolder, account, packaged);
  assert.equal(programs, join(temporaryFolder, "native"));
  assert.ok(readdirSync(join(programs, "lib")).includes("libpq.so.5"));
  const { status } = spawnSync(join(programs, "bin/postgres"), ["--version"], { ...account, cwd: "/" });
  assert.equal(status, 0);
});
