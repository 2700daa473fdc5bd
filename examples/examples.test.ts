import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { createFixture } from "../server/test/fixture.ts";

// Runs each example in its own process against the real server.

const { server, createWallet } = await createFixture();
const wallet = await createWallet();

/** Whether a failed search exits with an error or is reported to the model. */
const examples: Record<string, "exits" | "reports"> = {
  "ai-sdk-tool.ts": "reports",
  "function-tool.ts": "reports",
  "langchain-retriever.py": "exits",
  "langchain-retriever.ts": "exits",
  "llamaindex-tool.py": "reports",
  "llamaindex-tool.ts": "reports",
  "plain-fetch.ts": "exits",
  "research-agent.ts": "exits",
  "search.py": "exits",
};

/** The packages that an example imports. Debian does not have them, so CI runs these examples with stand-ins. */
const frameworks: Record<string, string> = {
  "langchain-retriever.py": "langchain_core.retrievers",
  "llamaindex-tool.py": "llama_index.core.tools",
};

const standIns = resolve(import.meta.dirname, "../server/test/support/python-stand-ins");
const sources = resolve(import.meta.dirname, "../clients/python/src");
const cache = resolve(import.meta.dirname, "../.pennyblack/mypy-examples");
const hasMypy = existsSync("/usr/bin/mypy") || process.env["CI"] !== undefined;

// Before the first test: `after` would run when the tests declared so far have ended.
const missing = new Set<string>();
for (const framework of Object.values(frameworks)) {
  if ((await runPython(["-c", `import ${framework}`])).code !== 0) missing.add(framework);
}

test("every example is tested", () => {
  const files = readdirSync(import.meta.dirname).filter((file) => /\.(?:ts|py)$/.test(file));
  assert.deepEqual(files.filter((file) => !file.endsWith(".test.ts")).toSorted(), Object.keys(examples));
});

for (const [file, onFailure] of Object.entries(examples)) {
  const framework = frameworks[file];
  const isIncomplete = framework !== undefined && missing.has(framework);
  const name = `examples/${file}${isIncomplete ? ` with a stand-in for ${framework}` : ""}`;
  const path = isIncomplete ? `${sources}:${standIns}` : sources;

  if (framework !== undefined) {
    test(`${name} passes mypy --strict`, { skip: !hasMypy && "needs mypy" }, async () => {
      const { code, output } = await execute("/usr/bin/mypy", ["--strict", "--cache-dir", cache, file], {
        MYPYPATH: `${sources}:${standIns}`,
      });
      assert.equal(code, 0, output);
    });
  }

  test(`${name} prints results`, async () => {
    const { code, output } = await run(file, "flood warning levels", path);
    assert.equal(code, 0, output);
    assert.match(output, /\w+: flood warning levels/);
  });

  test(`${name} reports a failure instead of an empty result`, async () => {
    const { code, output } = await run(file, "test:insufficient_balance", path);
    assert.equal(code === 0, onFailure === "reports", output);
    assert.match(output, /insufficient_balance|balance is too low|Top up/);
  });
}

test("the research agent cites what it found, and stops at its budget", async () => {
  const { code, output } = await runAgent(Array.from({ length: 11 }, (_, index) => `flood warning ${index}`));
  assert.equal(code, 0, output);
  assert.equal(output.match(/https?:/g)?.length, 20, "ten in the answer, and the same ten as sources");
  assert.match(output, /unknownSources: \[\],\s+failures: \[ 'run_budget_spent' \],\s+charged: '0\.00'/);
});

test("the research agent continues after a failed search, and reports it", async () => {
  const { code, output } = await runAgent(["test:rate_limited", "flood warning"]);
  assert.equal(code, 0, output);
  assert.match(output, /flood warning \[https?:.*failures: \[ 'rate_limited' \]/s);
});

test("a job that is started again does not pay again for the same searches", async () => {
  const { live } = await createWallet("0.05");
  const settings = { PENNYBLACK_API_KEY: live, JOB: "report-42" };
  const first = await runAgent(["flood warning", "flood levels"], settings);
  const second = await runAgent(["flood warning", "flood levels"], settings);
  assert.match(first.output, /charged: '0\.02'/);
  assert.equal(second.output, first.output.replace("0.02", "0.00"));
});

function runAgent(queries: string[], settings: Record<string, string> = {}) {
  return execute(process.execPath, ["--conditions=@pennyblack/source", "research-agent.ts", ...queries], settings);
}

function run(file: string, query: string, pythonPath: string): Promise<{ code: unknown; output: string }> {
  if (file.endsWith(".py")) return runPython([file, query], pythonPath);
  return execute(process.execPath, ["--conditions=@pennyblack/source", file, query]);
}

/** With Debian's Python by default, which has httpx. */
function runPython(args: string[], pythonPath = sources): Promise<{ code: unknown; output: string }> {
  return execute(process.env["PENNYBLACK_TEST_PYTHON"] ?? "/usr/bin/python3", args, { PYTHONPATH: pythonPath });
}

function execute(
  command: string,
  args: string[],
  settings: Record<string, string> = {},
): Promise<{ code: unknown; output: string }> {
  const env = {
    PATH: process.env["PATH"],
    PENNYBLACK_URL: server.url,
    PENNYBLACK_API_KEY: wallet.test,
    PYTHONDONTWRITEBYTECODE: "1",
    ...settings,
  };
  return new Promise((done) => {
    execFile(command, args, { cwd: import.meta.dirname, env, timeout: 500_000 }, (error, out, err) =>
      done({ code: error === null ? 0 : error.code, output: `${out}${err}` }),
    );
  });
}
