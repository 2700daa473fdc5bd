import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { until } from "../../server/test/support/assertions/until.ts";
import { createCli } from "../../server/test/support/clients/run-cli.ts";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestWallet, startTestServer } from "../../server/test/support/services/server.ts";

// The commands for shared budgets, and the settings of keys that refer to them, against the real server.

const db = await createTestDatabase();
const server = await startTestServer(db);
const cli = createCli();

after(async () => {
  cli.remove();
  await server.close();
  await db.drop();
});

async function createRunner() {
  const wallet = await createTestWallet(db, "1.00");
  const env = {
    PENNYBLACK_URL: server.url,
    PENNYBLACK_API_KEY: wallet.live,
    PENNYBLACK_MANAGEMENT_KEY: wallet.management,
  };
  return (...args: string[]) => cli.run(args, env);
}

test("creates, lists, changes and archives a budget", async () => {
  const run = await createRunner();
  assert.equal((await run("budgets", "list")).out, "No shared budgets.\n");
  const args = ["--name", "research", "--amount", "50", "--period", "week", "--alert", "95", "50"];
  const created = await run("budgets", "create", ...args);
  assert.equal(created.code, 0, created.err);
  assert.match(
    created.out,
    /^Budget +research\nID +\S{36}\nMode +live\nAmount +50\.00 USD per week\nSpent +0\.00 USD, 50\.00 USD left\n/,
  );
  assert.match(created.out, /\nResets +20\S+.*\nWarnings +50%, 95%\n$/);
  await run("budgets", "create", "--name", "chat", "--amount", "0.50", "--period", "day", "--per-end-user");
  const { out } = await run("budgets", "list");
  assert.match(out, /^ID +MODE +SPENT\/AMOUNT +PERIOD +RESETS +WARNINGS +NAME\n/);
  assert.match(
    out,
    /live +0\.50 per end user +day +20\S+ .* none +chat\n.*live +0\.00\/50\.00 +week +.* 50%, 95% +research\n/,
  );
  const updated = await run("budgets", "update", "research", "--amount", "75", "--name", "team", "--json");
  assert.deepEqual([JSON.parse(updated.out).amount, JSON.parse(updated.out).name], ["75.00", "team"]);
  assert.equal((await run("budgets", "archive", "team", "--yes")).out, "Archived: team\n");
  assert.doesNotMatch((await run("budgets", "list")).out, /team/);
});

test("a key names budgets by name, and a budget in use is not archived", async () => {
  const run = await createRunner();
  await run("budgets", "create", "--name", "research", "--amount", "5", "--period", "total");
  await run("keys", "create", "--name", "batch", "--budget", "research", "--max-run", "0.5", "--require-run");
  const shown = (await run("keys", "show", "batch")).out;
  assert.match(shown, /^Shared budget +research: 0\.00 USD spent, 5\.00 USD left of 5\.00 USD$/m);
  assert.match(shown, /^Each run +at most 0\.50 USD, required$/m);
  const refused = await run("budgets", "archive", "research", "--yes");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^These keys use the budget "research":\n {2}\S{36} {2}batch\n/);
  const update = async (...args: string[]): Promise<string> => (await run("keys", "update", "batch", ...args)).out;
  assert.match(await update("--max-run", "0.25"), /^Each run +at most 0\.25 USD, required$/m);
  assert.match(await update("--max-run", "0.25", "--no-require-run"), /^Each run +at most 0\.25 USD$/m);
  assert.match(await update("--max-run", "0.30"), /^Each run +at most 0\.30 USD$/m);
  assert.match(await update("--max-run", "0.25", "--require-run"), /^Each run +at most 0\.25 USD, required$/m);
  const changed = await run("keys", "update", "batch", "--budget", "none", "--max-run", "none");
  assert.doesNotMatch(changed.out, /Shared budget|Each run/);
  assert.equal((await run("budgets", "archive", "research", "--yes")).code, 0);
});

const failures: [args: string[], code: number, message: RegExp][] = [
  [["budgets", "create", "--name", "a", "--amount", "5"], 2, /required option '--period <period>' not specified/],
  [["budgets", "create", "--name", "a", "--amount", "5", "--period", "year"], 2, /Allowed choices are total, day/],
  [["budgets", "create", "--name", "a", "--amount", "5", "--period", "day", "--alert", "100"], 2, /from 1 to 99/],
  [["budgets", "update", "a"], 2, /No changes given/],
  [["budgets", "update", "a", "--amount", "5"], 1, /No shared budget has the id or name "a"/],
  [["budgets", "archive", "a"], 2, /Add --yes/],
  [["keys", "create", "--name", "a", "--budget", "b"], 1, /No shared budget has the id or name "b"/],
  [["keys", "update", "a", "--require-run"], 2, /--require-run needs --max-run/],
  [["keys", "update", "a", "--no-require-run"], 2, /--no-require-run needs --max-run/],
  [["keys", "update", "a", "--max-run", "none", "--require-run"], 2, /--require-run needs an amount in --max-run/],
];

for (const [args, code, message] of failures) {
  test(`"${args.join(" ")}" fails with exit code ${code}`, async () => {
    const run = await createRunner();
    const result = await run(...args);
    assert.equal(result.code, code, result.err);
    assert.match(result.err, message);
  });
}

test("opens the page of requests in the browser, and only prints its URL without a terminal", async () => {
  const wallet = await createTestWallet(db, "1.00");
  const env = { PENNYBLACK_URL: server.url, PENNYBLACK_MANAGEMENT_KEY: wallet.management };
  const url = `${server.url}/console/w/${wallet.walletId}/budgets`;
  const opened = join(cli.home, "opened");
  const browser = join(cli.home, "browser.sh");
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`, {
    mode: 0o755,
  });
  const args = ["budgets", "approve"];
  const piped = await cli.run(args, { ...env, BROWSER: browser });
  assert.deepEqual([piped.code, piped.out, piped.err], [0, `${url}\n`, ""]);
  assert.ok(!existsSync(opened));
  assert.equal((await cli.run([...args, "--json"], env)).out, `${JSON.stringify({ url })}\n`);
  const shown = await cli.run(args, { ...env, BROWSER: browser }, { isTerminal: true });
  assert.equal(shown.out, `${url}\n`);
  await until("the browser was started", () => existsSync(opened));
  assert.equal(readFileSync(opened, "utf8"), url);
  const missing = await cli.run(args, { ...env, BROWSER: join(cli.home, "missing") }, { isTerminal: true });
  assert.deepEqual([missing.code, missing.out], [0, `${url}\n`]);
});

test("shows an increase that a person has approved", async () => {
  const wallet = await createTestWallet(db, "1.00");
  const env = { PENNYBLACK_URL: server.url, PENNYBLACK_MANAGEMENT_KEY: wallet.management };
  await cli.run(["budgets", "create", "--name", "research", "--amount", "5", "--period", "week"], env);
  await db.owner.query(
    "update pb.budgets set raise_micros = 2000000, raise_ends_at = '2099-01-01T00:00:00Z' where wallet_id = $1",
    [wallet.walletId],
  );
  assert.match((await cli.run(["budgets", "list"], env)).out, / 0\.00\/5\.00\+2\.00 /);
  const { out } = await cli.run(["budgets", "update", "research", "--name", "team"], env);
  assert.match(out, /^Increase +2\.00 USD more until 2099-.*\nSpent +0\.00 USD, 7\.00 USD left$/m);
});
