import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { after, test } from "node:test";
import { createTestDatabase } from "../server/test/database.ts";
import { createTestWallet, startTestServer } from "../server/test/server.ts";

// Each example as a reader would run it, in a process of its own, against the real server.

const db = await createTestDatabase();
const server = await startTestServer(db);
const wallet = await createTestWallet(db, "0.00");

after(async () => {
  await server.close();
  await db.drop();
});

/** Whether a failed search ends the program, or is told to a model. */
const examples: Record<string, "ends" | "tells"> = {
  "ai-sdk-tool.ts": "tells",
  "function-tool.ts": "tells",
  "langchain-retriever.ts": "ends",
  "plain-fetch.ts": "ends",
  "search.py": "ends",
};

test("every example is run here", () => {
  const files = readdirSync(import.meta.dirname).filter((file) => /\.(?:ts|py)$/.test(file));
  assert.deepEqual(files.filter((file) => !file.endsWith(".test.ts")).toSorted(), Object.keys(examples));
});

for (const [file, whenItFails] of Object.entries(examples)) {
  test(`examples/${file} finds what was asked for`, async () => {
    const { code, printed } = await run(file, "flood warning levels");
    assert.equal(code, 0, printed);
    assert.match(printed, /\w+: flood warning levels/);
  });

  test(`examples/${file} does not take a failure for an empty answer`, async () => {
    const { code, printed } = await run(file, "test:insufficient_balance");
    assert.equal(code === 0, whenItFails === "tells", printed);
    assert.match(printed, /insufficient_balance|balance is too low|Top up/);
  });
}

function run(file: string, query: string): Promise<{ code: unknown; printed: string }> {
  const isPython = file.endsWith(".py");
  const command = isPython ? "python3" : process.execPath;
  const words = [...(isPython ? [] : ["--conditions=@pennyblack/source"]), file, query];
  const env = { PATH: process.env["PATH"], PENNYBLACK_URL: server.url, PENNYBLACK_API_KEY: wallet.test };
  return new Promise((done) => {
    execFile(command, words, { cwd: import.meta.dirname, env, timeout: 60_000 }, (error, out, err) =>
      done({ code: error === null ? 0 : error.code, printed: `${out}${err}` }),
    );
  });
}
