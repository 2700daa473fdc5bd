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
import { createTestDatabase } from "../../server/test/database.ts";
import { startHostileUpstream } from "../../server/test/hostile-upstream.ts";
import { installPacked, pack } from "../../server/test/packed-packages.ts";
import { readCodeBlocks } from "../../server/test/read-code-blocks.ts";
import { createTestWallet, startTestServer } from "../../server/test/server.ts";
import type { Task } from "../test/scenario.ts";

// The SDK as its users get it: from the packed file, against the real server, in every runtime it is promised for.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const installed = installPacked();
const closing = await listen((socket) => socket.once("data", () => socket.destroy()));
const silent = await listen(() => {});
const scenario = join(installed.folder, "scenario.mjs");
const scenarioText = readFileSync(new URL("../test/scenario.ts", import.meta.url), "utf8");
writeFileSync(scenario, stripTypeScriptTypes(scenarioText));

after(async () => {
  closing.close();
  silent.close();
  installed.remove();
  await server.close();
  await upstream.close();
  await db.drop();
});

async function listen(meet: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket.on("error", () => socket.destroy()));
    meet(socket);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const close = () => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  };
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, close };
}

/** Where nobody listens. */
async function findNobody(): Promise<string> {
  const { url, close } = await listen(() => {});
  close();
  return url;
}

const modules = new URL("../../node_modules/", import.meta.url).pathname;
const runtimes: [name: string, command: string[] | undefined][] = [
  ["Node 20", findNode20()],
  ["Node 24", [process.execPath]],
  [
    "Deno",
    ifPresent(join(modules, "@deno/linux-x64-glibc/deno"), [
      "run",
      "--allow-all",
      "--no-lock",
      "--node-modules-dir=manual",
    ]),
  ],
  ["Bun", ifPresent(join(modules, "@oven/bun-linux-x64/bin/bun"), [])],
];

function ifPresent(path: string, words: string[]): string[] | undefined {
  return existsSync(path) ? [path, ...words] : undefined;
}

/** The one that the machine has; npm puts ours before it. */
function findNode20(): string[] | undefined {
  const places = (process.env["PATH"] ?? "").split(delimiter).filter((place) => !place.includes("node_modules"));
  const found = [...places, "/usr/bin", "/usr/local/bin"].map((place) => join(place, "node")).find(isNode20);
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
};

for (const [name, command] of runtimes) {
  const skip = command === undefined && `${name} is not on this machine`;
  test(`the packed SDK does in ${name} what it promises`, { skip }, async () => {
    const { live, test: testKey, management } = await createTestWallet(db, "0.05");
    const task: Task = {
      baseUrl: server.url,
      keys: { live, test: testKey, management },
      webhook: signWebhook(),
      addresses: { refused: await findNobody(), closed: closing.url, silent: silent.url },
    };
    const [program = "", ...words] = command ?? [];
    const { stdout } = await promisify(execFile)(program, [...words, scenario, JSON.stringify(task)], {
      cwd: installed.folder,
      env: { HOME: installed.folder, NO_COLOR: "1" },
    });
    assert.deepEqual(JSON.parse(stdout), expected);
  });
}

test("its types stand on their own, and know the codes and categories", () => {
  writeFileSync(
    join(installed.folder, "consumer.ts"),
    `import { Pennyblack, PennyblackError } from "@pennyblack/sdk";
    const client = new Pennyblack({ apiKey: "k", baseUrl: "http://localhost" });
    try {
      const { results, meta } = await client.search("q", { n: 3, category: "gov" });
      for await (const { amount } of client.entries()) console.log(results[0]?.title, meta.charge, amount);
      // @ts-expect-error -- there is no such category.
      await client.search("q", { category: "sport" });
    } catch (error) {
      if (error instanceof PennyblackError && error.code === "rate_limited") console.log(error.retryAfter?.toFixed());
    }`,
  );
  const tsc = join(modules, "typescript/bin/tsc");
  const words = "--noEmit --strict --target es2022 --lib es2023,dom --module nodenext consumer.ts".split(" ");
  execFileSync(process.execPath, [tsc, "--ignoreConfig", ...words], { cwd: installed.folder, stdio: "inherit" });
});

function signWebhook() {
  const secret = randomBytes(32);
  const body = JSON.stringify({ type: "wallet.low", data: { balance: "0.50" } });
  const [id, at] = ["evt_1", String(Math.floor(Date.now() / 1_000))];
  const signature = createHmac("sha256", secret).update(`${id}.${at}.${body}`).digest("base64");
  const headers = { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": `v1,${signature}` };
  return { secret: `whsec_${secret.toString("base64")}`, body, headers };
}

test("every code block of the README runs", async () => {
  const wallet = await createTestWallet(db, "0.10");
  const env = {
    PENNYBLACK_URL: server.url,
    PENNYBLACK_API_KEY: wallet.live,
    PENNYBLACK_MANAGEMENT_KEY: wallet.management,
  };
  const blocks = readCodeBlocks(new URL("../README.md", import.meta.url), "js");
  assert.ok(blocks.length >= 4, `${blocks.length} blocks`);
  for (const [index, block] of blocks.entries()) {
    const file = join(installed.folder, `readme-${index}.mjs`);
    writeFileSync(file, block);
    await promisify(execFile)(process.execPath, [file], { cwd: installed.folder, env });
  }
});

test("it is small: no dependency, no install script, at most 600 lines and 30 kB", () => {
  const { dependencies, ...manifest } = installed.manifests.sdk;
  assert.equal(dependencies, undefined);
  assert.ok(!("scripts" in manifest));
  const sources = globSync("sdk/src/*.ts", { exclude: ["**/*.test.ts"] }).map((file) => readFileSync(file, "utf8"));
  // As the linter counts: without blank lines and comments.
  const lines = sources
    .join("\n")
    .split("\n")
    .filter((line) => !/^\s*(?:\/\/|\/\*|\*|$)/.test(line));
  assert.ok(lines.length > 300 && lines.length <= 600, `${lines.length} lines`);
  const [file = ""] = globSync(join(pack(), "pennyblack-sdk-*.tgz"));
  const bytes = statSync(file).size;
  assert.ok(bytes <= 30_000, `${bytes} bytes`);
});
