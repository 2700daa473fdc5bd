import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { packPython } from "../../../tools/release/pack-python.ts";
import { createFixture } from "../fixture.ts";
import { pack } from "../support/docs/packed-packages.ts";
import { startNpmRegistry } from "../support/services/npm-registry.ts";

// Publishes the packages of a release to a registry on loopback, installs each by name in an empty project, and uses it with
// a real server. `npm run release:dry` runs this file with the packages that it has built.

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "../../..");
const scratch = mkdtempSync(join(tmpdir(), "pennyblack-release-"));
const { server, createWallet } = await createFixture();
const registry = await startNpmRegistry();
const wallet = await createWallet("0.10");
const npmrc = join(scratch, "npmrc");
const credentials = `//${new URL(registry.url).host}/:_authToken=test`;
writeFileSync(npmrc, `registry=${registry.url}\n${credentials}\nignore-scripts=true\naudit=false\nfund=false\n`);
const env = {
  PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`,
  HOME: scratch,
  npm_config_userconfig: npmrc,
  npm_config_cache: join(scratch, "cache"),
  PENNYBLACK_URL: server.url,
  PENNYBLACK_API_KEY: wallet.live,
  PENNYBLACK_MANAGEMENT_KEY: wallet.management,
};
const release = process.env["PENNYBLACK_RELEASE"];
const tarballs = release ?? pack();
const sdkFile = globSync("pennyblack-sdk-*.tgz", { cwd: tarballs })[0] ?? "";
const version = sdkFile.slice("pennyblack-sdk-".length, -".tgz".length);
const publishScript = join(root, "tools/release/publish-npm.ts");

after(async () => {
  await registry.close();
  rmSync(scratch, { recursive: true });
});

async function publish(): Promise<string> {
  // Provenance requires the identity of a CI job.
  const { stdout } = await run(process.execPath, [publishScript, tarballs, "--no-provenance"], { env, cwd: scratch });
  return stdout;
}

/** Installs a package by name in an empty project. */
async function install(...names: string[]): Promise<string> {
  const folder = mkdtempSync(join(scratch, "project-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  await run("npm", ["install", ...names], { env, cwd: folder });
  return folder;
}

async function runScript(folder: string, text: string): Promise<string> {
  writeFileSync(join(folder, "main.js"), text);
  const { stdout } = await run(process.execPath, ["main.js"], { env, cwd: folder });
  return stdout.trim();
}

async function runProgram(folder: string, name: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(join(folder, "node_modules/.bin", name), args, { env, cwd: folder });
  return stdout.trim();
}

test("publishes every npm package, dependencies first, and a second run publishes nothing", async () => {
  await publish();
  const names = ["@pennyblack/sdk", "@pennyblack/cli", "@pennyblack/mcp", "@pennyblack/ai-sdk", "pennyblack-overspend"];
  assert.deepEqual(
    registry.published,
    names.map((name) => `${name} ${version}`),
  );
  const second = await publish();
  assert.equal(second.match(/already published/g)?.length, names.length);
  assert.equal(registry.published.length, names.length);
});

test("the SDK installed by name searches and has no dependencies", async () => {
  const folder = await install("@pennyblack/sdk");
  const printed = await runScript(
    folder,
    `import { Pennyblack } from "@pennyblack/sdk";
     import { verifyReceipt } from "@pennyblack/sdk/verify";
     const { results, meta } = await new Pennyblack().search("cats");
     console.log(results.length, meta.charge, typeof verifyReceipt);`,
  );
  assert.equal(printed, "10 0.01 function");
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as { packages: object };
  assert.deepEqual(Object.keys(lock.packages), ["", "node_modules/@pennyblack/sdk"]);
});

test("the CLI installed by name prints its version and searches", async () => {
  const folder = await install("@pennyblack/cli");
  assert.equal(await runProgram(folder, "pennyblack", "--version"), version);
  const answer = JSON.parse(await runProgram(folder, "pennyblack", "search", "cats", "--json")) as {
    results: unknown[];
  };
  assert.equal(answer.results.length, 10);
});

test("the MCP program installed by name prints its help and lists the tools", async () => {
  const folder = await install("@pennyblack/mcp");
  assert.equal(await runProgram(folder, "pennyblack-mcp", "--version"), version);
  assert.match(await runProgram(folder, "pennyblack-mcp", "--help"), /^Usage: pennyblack-mcp/);
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "0" } };
  const messages = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} },
  ];
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
  const program = join(folder, "node_modules/.bin/pennyblack-mcp");
  const started = run(program, { env, cwd: folder });
  started.child.stdin?.end(input);
  const answers = (await started).stdout.trim().split("\n");
  const list = answers.map((line) => JSON.parse(line) as { id: number; result: { tools?: { name: string }[] } });
  assert.deepEqual(
    list.find(({ id }) => id === 2)?.result.tools?.map(({ name }) => name),
    ["web_search", "get_balance"],
  );
});

test("the AI SDK tool installed by name with its peer is imported and called", async () => {
  const folder = await install("@pennyblack/ai-sdk", "ai");
  const printed = await runScript(
    folder,
    `import { createWebSearch } from "@pennyblack/ai-sdk";
     const output = await createWebSearch({ max: "0.02" }).execute({ query: "cats" }, { toolCallId: "1", messages: [] });
     console.log(output.ok, output.results.length, output.charge, output.left);`,
  );
  assert.equal(printed, "true 10 0.01 0.01");
});

test("pennyblack-overspend installed by name prints its help and contains its targets", async () => {
  const folder = await install("pennyblack-overspend");
  assert.match(await runProgram(folder, "pennyblack-overspend", "--help"), /^Usage: pennyblack-overspend/m);
  const packed = globSync("*.json", { cwd: join(folder, "node_modules/pennyblack-overspend/targets") });
  assert.deepEqual(packed.toSorted(), globSync("*.json", { cwd: join(root, "overspend/targets") }).toSorted());
});

test("the Python wheel searches with Debian's httpx", async () => {
  const archives = release ?? join(scratch, "python");
  if (release === undefined) packPython(root, archives);
  const [wheel = ""] = globSync(join(archives, "pennyblack-*.whl"));
  const target = join(scratch, "site-packages");
  mkdirSync(target);
  execFileSync("/usr/bin/python3", ["-m", "zipfile", "-e", wheel, target]);
  const program = [
    "from importlib.metadata import version",
    "from pennyblack import Pennyblack",
    "answer = Pennyblack().search('cats')",
    "print(version('pennyblack'), len(answer.results), answer.meta.charge)",
  ].join("\n");
  const { stdout } = await run("/usr/bin/python3", ["-c", program], { env: { ...env, PYTHONPATH: target } });
  assert.equal(stdout.trim(), `${version} 10 0.01`);
});
