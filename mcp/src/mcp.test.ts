import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { installPacked } from "../../server/test/support/docs/packed-packages.ts";
import { readCodeBlocks } from "../../server/test/support/docs/read-code-blocks.ts";
import { createTestDatabase } from "../../server/test/support/services/database.ts";
import { createTestKey, createTestWallet, startTestServer } from "../../server/test/support/services/server.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";

// Tests the packed MCP server with the official client over both transports, against the real API.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const api = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const installed = installPacked();
const program = installed.bin("pennyblack-mcp");
const clients: Client[] = [];
const children: ChildProcess[] = [];
const paths = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: installed.folder };

after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  for (const child of children) child.kill();
  installed.remove();
  await api.close();
  await upstream.close();
  await db.drop();
});

type Open = (env: Record<string, string>) => Promise<Client>;

async function connect(transport: Parameters<Client["connect"]>[0]): Promise<Client> {
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  clients.push(client);
  return client;
}

const overStdio: Open = (env) =>
  connect(new StdioClientTransport({ command: program, env: { ...paths, PENNYBLACK_URL: api.url, ...env } }));

const overHttp: Open = async (env) => {
  const child = spawn(program, ["--http", "--port", "0"], { env: { ...paths, PENNYBLACK_URL: api.url, ...env } });
  children.push(child);
  const [line] = await once(child.stderr, "data");
  const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(String(line))?.[0] ?? "";
  const token = env["PENNYBLACK_MCP_TOKEN"];
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }));
};

async function call(client: Client, name: string, input: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: input });
  const [content] = result.content as { type: string; text: string }[];
  return { isError: result.isError === true, text: content?.text ?? "" };
}

for (const [name, open] of [
  ["stdio", overStdio],
  ["HTTP", overHttp],
] as const) {
  test(`over ${name}: lists tools, searches, and explains the next step when the budget is spent`, async () => {
    const wallet = await createTestWallet(db, "1.00");
    const { key } = await createTestKey(db, {
      walletId: wallet.walletId,
      mode: "live",
      name: "agent",
      scopes: ["search", "wallet:read"],
    });
    const client = await open({ PENNYBLACK_API_KEY: key, PENNYBLACK_MCP_BUDGET: "0.02", PENNYBLACK_MCP_TOKEN: "t" });
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map((tool) => tool.name),
      ["web_search", "wallet_status"],
    );
    assert.match(tools[0]?.description ?? "", /costs 0\.01 USD; this conversation can spend 0\.02 USD/);

    const found = await call(client, "web_search", { query: "penny black", n: 2, category: "research" });
    assert.equal(found.isError, false, found.text);
    assert.match(found.text, /^2 results\. Charged 0\.01 USD\..*<<<untrusted-web-text \w+>>>\n\[1\] About https/s);
    const status = await call(client, "wallet_status");
    assert.match(status.text, /1 successful search so far, budget 0\.02 USD\. The wallet has 0\.99 USD/);

    await call(client, "web_search", { query: "the last cent" });
    const refused = await call(client, "web_search", { query: "one too many" });
    assert.equal(refused.isError, true);
    assert.match(refused.text, /^The search FAILED\. This does not mean there are no results/);
    assert.match(refused.text, /You were not charged for this call/);
    assert.match(refused.text, /do not search again\. This conversation has spent its 0\.02 USD budget\. Finish with/);
    assert.equal((await api.readMoney(wallet.management)).balance, "0.98");
  });
}

test("upstream failures, an empty wallet and an invalid key are errors with a next step", async () => {
  const [wallet, empty] = [await createTestWallet(db, "1.00"), await createTestWallet(db, "0.00")];
  const client = await overStdio({ PENNYBLACK_API_KEY: wallet.test });
  const failed = await call(client, "web_search", { query: "test:upstream_unreachable" });
  assert.equal(failed.isError, true);
  assert.match(failed.text, /already retried several times.*Do not answer from memory/s);
  assert.match(failed.text, /You were not charged.*upstream_unreachable, request [0-9a-f-]{36}/s);
  assert.doesNotMatch(failed.text, /returned no results/);
  const nothing = await call(client, "web_search", { query: "test:empty" });
  assert.deepEqual([nothing.isError, /succeeded but returned no results/.test(nothing.text)], [false, true]);
  const wrong = await call(client, "web_search", { query: "cats", n: 50 });
  assert.equal(wrong.isError, true);
  const walletStatus = await call(client, "wallet_status");
  assert.deepEqual([walletStatus.isError, /cannot read the wallet/.test(walletStatus.text)], [false, true]);

  const noBalance = await call(await overStdio({ PENNYBLACK_API_KEY: empty.live }), "web_search", { query: "cats" });
  assert.match(
    noBalance.text,
    /do not retry\. Tell the user that the wallet balance is too low and to top up at http:\/\/search\.test/,
  );
  const clientWithBadKey = await overStdio({ PENNYBLACK_API_KEY: `pb_live_${"a".repeat(36)}` });
  const refused = await call(clientWithBadKey, "web_search", { query: "cats" });
  assert.match(refused.text, /do not retry\. Tell the user that the API rejected this server's key/);
});

test("a search that got no response is reported as such, and repeating it is not charged twice", async () => {
  const wallet = await createTestWallet(db, "1.00");
  // A proxy that drops the first four responses.
  let responses = 0;
  const lossyProxy = createServer((incoming, response) => {
    const forward = async () => {
      const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => name !== "connection"));
      const body = await text(incoming);
      const answer = await fetch(api.url + incoming.url, {
        method: "POST",
        headers: headers as Record<string, string>,
        body,
      });
      const responseBody = await answer.text();
      responses += 1;
      if (responses <= 4) response.destroy();
      else response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(responseBody);
    };
    forward().catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(lossyProxy, "listening");
  const url = `http://127.0.0.1:${(lossyProxy.address() as AddressInfo).port}`;
  try {
    const client = await overStdio({ PENNYBLACK_API_KEY: wallet.live, PENNYBLACK_URL: url });
    const first = await call(client, "web_search", { query: "cats", n: 1 });
    assert.equal(first.isError, true);
    assert.match(first.text, /call may have been charged.*exactly the same input; it will not be charged twice/s);
    const second = await call(client, "web_search", { query: "cats", n: 1 });
    assert.match(second.text, /^1 result\. Charged by an earlier attempt/);
    assert.equal((await api.readMoney(wallet.management)).balance, "0.99");
  } finally {
    lossyProxy.close();
  }
});

test("refuses to start without a key, with an invalid budget, or on a public address without a token", async () => {
  const validEnv = { PENNYBLACK_API_KEY: "pb_live_x", PENNYBLACK_URL: api.url };
  const cases: [args: string[], env: Record<string, string>, RegExp][] = [
    [[], {}, /Set PENNYBLACK_API_KEY/],
    [[], { ...validEnv, PENNYBLACK_MCP_BUDGET: "lots" }, /PENNYBLACK_MCP_BUDGET must be an amount/],
    [["--http", "--host", "0.0.0.0"], validEnv, /Set PENNYBLACK_MCP_TOKEN/],
  ];
  for (const [args, env, message] of cases) {
    const child = spawn(program, args, { env: { ...paths, ...env } });
    const [output] = await Promise.all([text(child.stderr), once(child, "close")]);
    assert.match(output, message);
    assert.equal(child.exitCode, 2);
  }
});

test("the README's configuration and command start the server with npx", async () => {
  const wallet = await createTestWallet(db, "0.10");
  const [block = ""] = readCodeBlocks(new URL("../README.md", import.meta.url), "json");
  const { command, args, env: documentedEnv } = JSON.parse(block).mcpServers.pennyblack;
  assert.deepEqual(Object.keys(documentedEnv), ["PENNYBLACK_API_KEY", "PENNYBLACK_URL"]);
  const env = {
    ...getDefaultEnvironment(),
    PENNYBLACK_API_KEY: wallet.test,
    PENNYBLACK_URL: api.url,
    npm_config_offline: "true",
  };
  const client = await connect(new StdioClientTransport({ command, args, cwd: installed.folder, env }));
  assert.equal((await client.listTools()).tools.length, 2);

  const [line = ""] = readCodeBlocks(new URL("../README.md", import.meta.url), "sh");
  const child = spawn("/bin/sh", ["-c", `exec ${line.replace("8787", "0")}`], {
    cwd: installed.folder,
    env,
    detached: true,
  });
  try {
    let output = "";
    for await (const chunk of child.stderr) {
      output += String(chunk);
      if (output.includes("Listening on")) break;
    }
    assert.match(output, /Listening on http:\/\/127\.0\.0\.1:\d+\/mcp/);
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid);
  }
});

test("has at most 250 lines", () => {
  const sources = globSync("mcp/src/*.ts", { exclude: ["**/*.test.ts"] }).map((file) => readFileSync(file, "utf8"));
  // Skip blank lines and comments, like the linter.
  const lines = sources
    .join("\n")
    .split("\n")
    .filter((line) => !/^\s*(?:\/\/|\/\*|\*|$)/.test(line));
  assert.ok(lines.length > 100 && lines.length <= 250, `${lines.length} lines`);
});
