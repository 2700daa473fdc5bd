import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, before, test } from "node:test";
import { readConfig } from "../../src/config/config.ts";
import { taskSchedules } from "../../src/jobs/tasks.ts";
import { readHealth } from "../../src/operator/operator.ts";
import { adapters } from "../../src/providers/providers.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { startMailServer } from "../support/services/mail-server.ts";
import { spawnNode } from "../support/services/node-process.ts";
import { createTestWallet, testEnvironment } from "../support/services/server.ts";
import { failServerProcess } from "../support/services/server-process.ts";
import { TcpProxy } from "../support/services/tcp-proxy.ts";
import { startWorker } from "./worker-fixture.ts";

// The operators' view of workers that run, cannot start, crash or do not finish their tasks.

let db: TestDatabase;

before(async () => {
  db = await createTestDatabase();
});

after(() => db.drop());

test("server and worker have different default ports", () => {
  const { opsPort, workerOpsPort } = readConfig(adapters, ["opsPort", "workerOpsPort"], {});
  assert.deepEqual([opsPort, workerOpsPort], [9090, 9091]);
});

test("a server or worker whose port is taken exits with a sentence, and the worker does no work", async (t) => {
  const taken = createServer().listen(0, "127.0.0.1");
  t.after(() => taken.close());
  await once(taken, "listening");
  const port = String((taken.address() as AddressInfo).port);
  const sentence = (variable: string): RegExp =>
    new RegExp(
      `"faults":\\["Cannot listen on 127.0.0.1:${port}: another process uses this port. Stop it, or change ${variable}."\\]`,
    );
  const worker = spawnNode("jobs/main.ts", {
    ...testEnvironment(db),
    PENNYBLACK_WORKER_DATABASE_URL: db.workerUrl,
    PENNYBLACK_OPS_PORT: port,
  });
  assert.equal(await worker.ended, 1);
  assert.match(worker.output(), sentence("PENNYBLACK_OPS_PORT"));
  assert.equal((await readHealth(db.owner)).worker.seenAt, undefined);
  const { rows } = await db.owner.query("select from graphile_worker.jobs");
  assert.equal(rows.length, 0, "no task was scheduled");

  const listeners = { HOST: "127.0.0.1", PORT: port, PENNYBLACK_OPS_PORT: "0" };
  const { exitCode, output } = await failServerProcess({ ...testEnvironment(db), ...listeners });
  assert.equal(exitCode, 1);
  assert.match(output, sentence("PORT"));
});

test("a worker that loses its database during the start-up checks exits with a sentence", async (t) => {
  const { hostname, port } = new URL(db.workerUrl);
  const proxy = closeAfter(new TcpProxy({ host: hostname, port: Number(port) }), t);
  await proxy.listen();
  const cut = proxy.cutRequest("pb.secrets_in_use");
  const worker = spawnNode("jobs/main.ts", {
    ...testEnvironment(db),
    PENNYBLACK_WORKER_DATABASE_URL: proxy.through(db.workerUrl),
    PENNYBLACK_OPS_PORT: "0",
  });
  assert.equal(await worker.ended, 1);
  await cut;
  assert.match(
    worker.output(),
    /"faults":\["PENNYBLACK_WORKER_DATABASE_URL cannot be used \(.+\)\. Check its address and password, then run: npm run migrate"\]/,
  );
});

test("the task emails fails while the mail server rejects the login, and no attempt of an email is used", async (t) => {
  const mail = closeAfter(await startMailServer(), t);
  const { walletId } = await createTestWallet(db, "0.00");
  await db.owner.query(
    `insert into pb.events (id, wallet_id, type, data, created_at, due_at, dispatched_at, email_due_at)
     values ($1, $1, 'wallet.depleted', '{}', now(), now(), now(), now())`,
    [walletId],
  );
  const settings = {
    PENNYBLACK_SMTP_URL: mail.url.replace("pass%20word", "wrong"),
    PENNYBLACK_MAIL_FROM: "a@example.com",
  };
  const worker = await startWorker(db, settings);
  await until("the task has failed", async () =>
    /^pennyblack_task_failures_total\{task="emails"\} [1-9]/m.test(
      await (await fetch(`${worker.opsUrl}/metrics`)).text(),
    ),
  );
  assert.equal(await worker.stop(), 0);
  const { rows } = await db.owner.query("select email_attempts as attempts from pb.events where id = $1", [walletId]);
  assert.deepEqual(rows, [{ attempts: 0 }]);
});

test("a worker reports its tasks while it runs; one that crashes is counted, and one that stops is not", async () => {
  const crashed = await startWorker(db);
  await until("the worker has reported", async () => (await readHealth(db.owner)).worker.seenAt !== undefined);
  const { rows } = await db.owner.query<{ task: string }>("select task from pb.worker_tasks order by task");
  assert.deepEqual(
    rows.map(({ task }) => task),
    Object.keys(taskSchedules).toSorted(),
  );
  crashed.process.kill("SIGKILL");
  await once(crashed.process, "close");
  await db.owner.query("update pb.process_reports set seen_at = seen_at - interval '31 seconds'");
  assert.equal((await readHealth(db.owner)).worker.crashes, 1);

  await db.owner.query("update pb.worker_tasks set succeeded_at = now() - interval '1 day 1 hour'");
  const running = await startWorker(db);
  await until("the tasks of the start have succeeded, and the others are late", async () => {
    const { lateTasks } = (await readHealth(db.owner)).worker;
    return lateTasks.includes("prune") && !lateTasks.some((task) => ["sweep", "webhooks", "emails"].includes(task));
  });
  const late = (await readHealth(db.owner)).worker.lateTasks;
  assert.ok(!late.includes("retention"), "a daily task is not late after 25 hours");
  assert.equal(await running.stop(), 0);
  await db.owner.query("update pb.process_reports set seen_at = seen_at - interval '31 seconds'");
  assert.equal((await readHealth(db.owner)).worker.crashes, 1);
});

test("late tasks are not listed without a worker, and crashes are counted for ten minutes", async () => {
  await db.owner.query("update pb.worker_tasks set reported_at = now() - interval '6 minutes'");
  await db.owner.query(
    "insert into pb.process_reports values ($1, 'worker', '{}', now() - interval '11 minutes', now() - interval '9 minutes')",
    [randomUUIDv7()],
  );
  const { crashes, lateTasks } = (await readHealth(db.owner)).worker;
  assert.deepEqual([crashes, lateTasks], [1, []]);
});
