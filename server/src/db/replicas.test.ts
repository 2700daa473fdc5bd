import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { until } from "../../test/support/assertions/until.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { startPrivatePostgres } from "../../test/support/services/private-postgres.ts";
import { findAccount } from "../dev/postgres-programs.ts";
import { createPool } from "./pool.ts";
import { readReplicas } from "./replicas.ts";
import { roles } from "./roles.ts";

const folder = mkdtempSync(join(tmpdir(), "pennyblack-replica-"));
chmodSync(folder, 0o777);
after(() => rmSync(folder, { recursive: true, force: true }));

test("reports replicas and their lag, or undefined without the privilege", async () => {
  const primary = await startPrivatePostgres();
  const db = await createTestDatabase(primary.superuserUrl);
  assert.deepEqual(await readReplicas(db.owner), []);

  const data = join(folder, "data");
  const source = `${primary.superuserUrl}?application_name=s1`;
  await promisify(execFile)(join(primary.programs, "pg_basebackup"), ["-d", source, "-D", data, "-R", "-c", "fast"], {
    ...findAccount(),
    cwd: folder,
  });
  const replica = await startPrivatePostgres({ data });
  const superuserOf = (url: string) => createPool({ url, name: "test", connections: 1, onIdleError: () => {} });
  const [there, here] = [superuserOf(replica.superuserUrl), superuserOf(primary.superuserUrl)];
  try {
    const lag = async () => (await readReplicas(db.owner))?.find(({ name }) => name === "s1")?.lagBytes;
    await until("the replica has caught up", async () => (await lag()) === 0);
    await there.query("select pg_wal_replay_pause()");
    await db.owner.query("create table pb.noise as select repeat('x', 100) from generate_series(1, 20000)");
    await until("the replica is behind", async () => ((await lag()) ?? 0) > 1_000_000);
    await there.query("select pg_wal_replay_resume()");
    await until("the replica has caught up again", async () => (await lag()) === 0);
    await here.query(`revoke pg_read_all_stats from ${roles.owner}, ${roles.worker}`);
    assert.equal(await readReplicas(db.owner), undefined);
  } finally {
    await Promise.all([there.end(), here.end()]);
    await replica.close();
    await db.drop();
    await primary.close();
  }
});
