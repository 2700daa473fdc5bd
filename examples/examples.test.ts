import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { after, test } from "node:test";
import { createTestDatabase } from "../server/test/support/services/database.ts";
import { createTestWallet, startTestServer } from "../server/test/support/services/server.ts";

// Runs each example in its own process against the real server.

const db = await createTestDatabase();
const server = await startTestServer(db);
const wallet = await createTestWallet(db, "0.00");

after(async () => {
  await server.close();
  await db.drop();
});

/** Whether a failed search exits with an error or is reported to the model. */
const examples: Record<string, "exits" | "reports"> = {
  "ai-sdk-tool.ts": "reports",
  "function-tool.ts": "reports",
  "langchain-retriever.ts": "exits",
  "plain-fetch.ts": "exits",
  "search.py": "exits",
};

test("every example is tested", () => {
  const files = readdirSync(import.meta.dirname).filter((file) => /\.(?:ts|py)$/.test(file));
  assert.deepEqual(files.filter((file) => !file.endsWith(".test.ts")).toSorted(), Object.keys(examples));
});

for (const [file, onFailure] of Object.entries(examples)) {
  test(`examples/${file} prints results`, async () => {
    const { code, output } = await run(file, "flood warning levels");
    assert.equal(code, 0, output);
    assert.match(output, /\w+: flood warning levels/);
  });

  test(`examples/${file} reports a failure instead of an empty result`, async () => {
    const { code, output } = await run(file, "test:insufficient_balance");
    assert.equal(code === 0, onFailure === "reports", output);
    assert.match(output, /insufficient_balance|balance is too low|Top up/);
  });
}

function run(file: string, query: string): Promise<{ code: unknown; output: string }> {
  const isPython = file.endsWith(".py");
  const command = isPython ? "python3" : process.execPath;
  const args = [...(isPython ? [] : ["--conditions=@pennyblack/source"]), file, query];
  const env = { PATH: process.env["PATH"], PENNYBLACK_URL: server.url, PENNYBLACK_API_KEY: wallet.test };
  return new Promise((done) => {
    execFile(command, args, { cwd: import.meta.dirname, env, timeout: 60_000 }, (error, out, err) =>
      done({ code: error === null ? 0 : error.code, output: `${out}${err}` }),
    );
  });
}
