import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { installPacked, type Package, pack } from "../../server/test/support/docs/packed-packages.ts";
import { readCodeBlocks } from "../../server/test/support/docs/read-code-blocks.ts";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestWallet, startTestServer } from "../../server/test/support/services/server.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";
import { installOnDemand } from "../../tools/on-demand/install-on-demand.ts";
import type { ScenarioInput } from "../test/scenario.ts";

// Tests the packed SDK against the real server in every supported runtime.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const installed = installPacked();
const closingServer = await listen((socket) => socket.once("data", () => socket.destroy()));
const silentServer = await listen(() => {});
const scenario = join(installed.folder, "scenario.mjs");
const scenarioText = readFileSync(new URL("../test/scenario.ts", import.meta.url), "utf8");
writeFileSync(scenario, stripTypeScriptTypes(scenarioText));

after(async () => {
  closingServer.close();
  silentServer.close();
  installed.remove();
  await server.close();
  await upstream.close();
  await db.drop();
});

async function listen(onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket.on("error", () => socket.destroy()));
    onConnection(socket);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const close = () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  };
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, close };
}

/** The URL of a port that refuses connections. */
async function findClosedPort(): Promise<string> {
  const { url, close } = await listen(() => {});
  close();
  return url;
}

const nodeModules = new URL("../../node_modules/", import.meta.url).pathname;
const runtimes: [name: string, command: string[] | undefined][] = [
  ["Node 20", findNode20()],
  ["Node 24", [process.execPath]],
  ["Deno", onDemand("@deno/linux-x64-glibc/deno", "run", "--allow-all", "--no-lock", "--node-modules-dir=manual")],
  ["Bun", onDemand("@oven/bun-linux-x64/bin/bun")],
];

/** The locked packages are for one platform, the one of CI. */
function onDemand(program: string, ...args: string[]): string[] | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  return [join(installOnDemand("runtimes"), "node_modules", program), ...args];
}

/** The system's Node 20. npm puts the repository's own Node first in PATH, so skip node_modules. */
function findNode20(): string[] | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => !folder.includes("node_modules"));
  const found = [...folders, "/usr/bin", "/usr/local/bin"].map((folder) => join(folder, "node")).find(isNode20);
  return found === undefined ? undefined : [found];
}

function isNode20(path: string): boolean {
  return existsSync(path) && execFileSync(path, ["--version"], { encoding: "utf8" }).startsWith("v20.");
}

const expected = {
  first: { query: "penny black", n: 3, length: 3, charge: "0.01" },
  fields: ["title", "url", "snippet", "source"],
  limit: 1000,
  steps: ["auth", "hold", "upstream", "capture"],
  upstreams: 1,
  again: { isSame: true, charge: "0.00" },
  replayed: [false, true],
  budget: "BudgetError run_budget_spent charged=false",
  upstream: "UpstreamError upstream_error charged=false",
  invalid: "RequestError invalid_request charged=false",
  scope: "PermissionError insufficient_scope charged=false",
  late: "UpstreamError upstream_timeout charged=false",
  balance: "0.03",
  entries: ["search -0.01", "search -0.01", "top_up 0.05"],
  single: 1,
  charges: ["-0.01"],
  refused: "ConnectionError connection_closed charged=false",
  closed: "ConnectionError connection_closed charged=unknown",
  silent: "ConnectionError timeout charged=unknown",
  aborted: "TimeoutError",
  never: "AbortError",
  event: "wallet.low",
  bytes: "wallet.low",
  tampered: "WebhookError",
  fromEnvironment: "test",
  isRuntimeNamed: true,
};

for (const [name, command] of runtimes) {
  const skip = command === undefined && `${name} is not installed`;
  test(`the packed SDK works in ${name}`, { skip }, async () => {
    const { live, test: testKey, management } = await createTestWallet(db, "0.05");
    const input: ScenarioInput = {
      baseUrl: server.url,
      keys: { live, test: testKey, management },
      webhook: signWebhook(),
      brokenUrls: { refused: await findClosedPort(), closed: closingServer.url, silent: silentServer.url },
    };
    const [program = "", ...args] = command ?? [];
    const { stdout } = await promisify(execFile)(program, [...args, scenario, JSON.stringify(input)], {
      cwd: installed.folder,
      env: { HOME: installed.folder, NO_COLOR: "1", PENNYBLACK_API_KEY: testKey, PENNYBLACK_URL: server.url },
    });
    assert.deepEqual(JSON.parse(stdout), expected);
  });
}

test("the packed types compile on their own and include error codes and categories", () => {
  writeFileSync(
    join(installed.folder, "consumer.ts"),
    `import { Pennyblack, PennyblackError } from "@pennyblack/sdk";
    import { verifyReceipt } from "@pennyblack/sdk/verify";
    const client = new Pennyblack({ apiKey: "k", baseUrl: "http://localhost" });
    try {
      const { results, meta } = await client.search("q", { n: 3, category: "gov" });
      for await (const { amount } of client.entries()) console.log(results[0]?.title, meta.charge, amount);
      console.log((await verifyReceipt((await client.receipt("r")).receipt, await client.jwks())).amount);
      // @ts-expect-error -- not a category.
      await client.search("q", { category: "sport" });
    } catch (error) {
      if (error instanceof PennyblackError && error.code === "rate_limited") console.log(error.retryAfter?.toFixed());
    }`,
  );
  const tsc = join(nodeModules, "typescript/bin/tsc");
  for (const resolution of ["--module nodenext", "--module esnext --moduleResolution bundler"]) {
    const args = `--noEmit --strict --target es2022 --lib es2023,dom ${resolution} consumer.ts`.split(" ");
    execFileSync(process.execPath, [tsc, "--ignoreConfig", ...args], { cwd: installed.folder, stdio: "inherit" });
  }
});

function signWebhook() {
  const secret = randomBytes(32);
  const body = JSON.stringify({ type: "wallet.low", data: { balance: "0.50" } });
  const [id, timestamp] = ["evt_1", String(Math.floor(Date.now() / 1_000))];
  const signature = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
  return { secret: `whsec_${secret.toString("base64")}`, body, headers };
}

test("every code block in the README runs", async () => {
  const wallet = await createTestWallet(db, "0.10");
  const env = {
    PENNYBLACK_URL: server.url,
    PENNYBLACK_API_KEY: wallet.live,
    PENNYBLACK_MANAGEMENT_KEY: wallet.management,
  };
  const blocks = readCodeBlocks(new URL("../README.md", import.meta.url), "ts");
  assert.ok(blocks.length >= 6, `${blocks.length} blocks`);
  for (const [index, block] of blocks.entries()) {
    const file = join(installed.folder, `readme-${index}.ts`);
    writeFileSync(file, block);
    await promisify(execFile)(process.execPath, [file], { cwd: installed.folder, env });
  }
});

test("has no dependencies or install scripts, and its size is limited", () => {
  const { dependencies, ...manifest } = installed.manifests.sdk;
  assert.equal(dependencies, undefined);
  assert.ok(!("scripts" in manifest));
  const [client, verification] = [countLines("sdk/src/!(api).ts"), countLines("sdk/src/verify/*.ts")];
  assert.ok(client > 300 && client <= 1_180, `${client} lines`);
  assert.ok(verification > 200 && verification <= 400, `${verification} lines`);
  const bytes = statSync(findPacked("sdk")).size;
  assert.ok(bytes <= 48_000, `${bytes} bytes`);
});

for (const kind of ["sdk", "cli", "mcp", "ai-sdk"] as const) {
  test(`the ${kind} package contains its license, its address and nothing but the build`, () => {
    const files = execFileSync("tar", ["-tzf", findPacked(kind)], { encoding: "utf8" })
      .trim()
      .split("\n");
    const others = files.filter(
      (file) => !/^package\/(?:dist\/.*(?<!test)\.(?:js|d\.ts)|README\.md|package\.json)$/.test(file),
    );
    assert.deepEqual(others, ["package/LICENSE", ...(kind === "cli" ? ["package/pennyblack.schema.json"] : [])]);
    const [own, root] = [`../../${kind}/LICENSE`, "../../LICENSE"].map((path) => new URL(path, import.meta.url));
    assert.deepEqual(own && readFileSync(own), root && readFileSync(root));
    const { license, repository, homepage, bugs, keywords, publishConfig } = installed.manifests[kind];
    assert.equal(license, "Apache-2.0");
    assert.equal(repository?.directory, kind);
    assert.ok(homepage && bugs && keywords?.length);
    assert.deepEqual(publishConfig, { access: "public", provenance: true });
  });
}

function findPacked(kind: Package): string {
  return globSync(join(pack(), `pennyblack-${kind}-*.tgz`))[0] ?? "";
}

/** Skips blank lines and comments, like the linter. */
function countLines(pattern: string): number {
  const files = globSync(pattern, { exclude: ["**/*.test.ts"] });
  const lines = files.flatMap((file) => readFileSync(file, "utf8").split("\n"));
  return lines.filter((line) => !/^\s*(?:\/\/|\/\*|\*|$)/.test(line)).length;
}
