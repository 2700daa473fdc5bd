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
import { createTestDatabase } from "../../server/test/database.ts";
import { startHostileUpstream } from "../../server/test/hostile-upstream.ts";
import { installPacked } from "../../server/test/packed-packages.ts";
import { readCodeBlocks } from "../../server/test/read-code-blocks.ts";
import { createTestKey, createTestWallet, startTestServer } from "../../server/test/server.ts";

// The MCP server as its users get it: from the packed file, spoken to by the official client over both transports, in
// front of the real API.

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
  test(`over ${name}: a model lists the tools, searches, hits its budget and is told what to do`, async () => {
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
    assert.match(tools[0]?.description ?? "", /costs 0\.01 USD; this conversation may spend 0\.02 USD/);

    const found = await call(client, "web_search", { query: "penny black", n: 2, category: "research" });
    assert.equal(found.isError, false, found.text);
    assert.match(found.text, /^2 results\. Charged 0\.01 USD\..*<<<untrusted-web-text \w+>>>\n\[1\] About https/s);
    const status = await call(client, "wallet_status");
    assert.match(status.text, /1 answered search and may spend 0\.02 USD in all\. The wallet has 0\.99 USD/);

    await call(client, "web_search", { query: "the last cent" });
    const refused = await call(client, "web_search", { query: "one too many" });
    assert.equal(refused.isError, true);
    assert.match(refused.text, /^The search FAILED\. This does not mean that there are no results/);
    assert.match(refused.text, /Nothing was charged for this call/);
    assert.match(
      refused.text,
      /do not search again\. The 0\.02 USD of this conversation are spent\. Finish with what you have/,
    );
    assert.equal((await api.readMoney(wallet.management)).balance, "0.98");
  });
}

test("a failure upstream is an error with advice, and so are an empty wallet and a bad key", async () => {
  const [wallet, empty] = [await createTestWallet(db, "1.00"), await createTestWallet(db, "0.00")];
  const client = await overStdio({ PENNYBLACK_API_KEY: wallet.test });
  const failed = await call(client, "web_search", { query: "test:upstream_unreachable" });
  assert.equal(failed.isError, true);
  assert.match(failed.text, /tried several times already.*Do not answer from memory/s);
  assert.match(failed.text, /Nothing was charged.*upstream_unreachable, request [0-9a-f-]{36}/s);
  assert.doesNotMatch(failed.text, /found nothing/);
  const nothing = await call(client, "web_search", { query: "test:empty" });
  assert.deepEqual([nothing.isError, /worked and found nothing/.test(nothing.text)], [false, true]);
  const wrong = await call(client, "web_search", { query: "cats", n: 50 });
  assert.equal(wrong.isError, true);
  const hidden = await call(client, "wallet_status");
  assert.deepEqual([hidden.isError, /may not read the wallet/.test(hidden.text)], [false, true]);

  const poor = await call(await overStdio({ PENNYBLACK_API_KEY: empty.live }), "web_search", { query: "cats" });
  assert.match(
    poor.text,
    /do not retry\. Tell the user that the wallet is empty and that money is added at http:\/\/search\.test/,
  );
  const stranger = await overStdio({ PENNYBLACK_API_KEY: `pb_live_${"a".repeat(36)}` });
  const refused = await call(stranger, "web_search", { query: "cats" });
  assert.match(refused.text, /do not retry\. Tell the user that the key of this server was refused/);
});

test("a search without an answer is said to be one, and asked again it is not paid twice", async () => {
  const wallet = await createTestWallet(db, "1.00");
  // Between the two stands a network that loses the first four answers.
  let lost = 0;
  const network = createServer((incoming, response) => {
    const forward = async () => {
      const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => name !== "connection"));
      const body = await text(incoming);
      const answer = await fetch(api.url + incoming.url, {
        method: "POST",
        headers: headers as Record<string, string>,
        body,
      });
      const answered = await answer.text();
      lost += 1;
      if (lost <= 4) response.destroy();
      else response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(answered);
    };
    forward().catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(network, "listening");
  const url = `http://127.0.0.1:${(network.address() as AddressInfo).port}`;
  try {
    const client = await overStdio({ PENNYBLACK_API_KEY: wallet.live, PENNYBLACK_URL: url });
    const first = await call(client, "web_search", { query: "cats", n: 1 });
    assert.equal(first.isError, true);
    assert.match(
      first.text,
      /not known whether this call was charged.*exactly the same input; it will not be paid twice/s,
    );
    const second = await call(client, "web_search", { query: "cats", n: 1 });
    assert.match(second.text, /^1 result\. Charged once, by an earlier attempt/);
    assert.equal((await api.readMoney(wallet.management)).balance, "0.99");
  } finally {
    network.close();
  }
});

test("it refuses to start without a key, with a budget that is none, and beyond this machine without a token", async () => {
  const good = { PENNYBLACK_API_KEY: "pb_live_x", PENNYBLACK_URL: api.url };
  const starts: [words: string[], env: Record<string, string>, RegExp][] = [
    [[], {}, /Set PENNYBLACK_API_KEY/],
    [[], { ...good, PENNYBLACK_MCP_BUDGET: "lots" }, /PENNYBLACK_MCP_BUDGET is an amount/],
    [["--http", "--host", "0.0.0.0"], good, /Set PENNYBLACK_MCP_TOKEN/],
  ];
  for (const [words, env, message] of starts) {
    const child = spawn(program, words, { env: { ...paths, ...env } });
    const [output] = await Promise.all([text(child.stderr), once(child, "close")]);
    assert.match(output, message);
    assert.equal(child.exitCode, 2);
  }
});

test("the README's settings start it, as `npx` would", async () => {
  const wallet = await createTestWallet(db, "0.10");
  const [block = ""] = readCodeBlocks(new URL("../README.md", import.meta.url), "json");
  const { command, args, env } = JSON.parse(block).mcpServers.pennyblack;
  assert.deepEqual(Object.keys(env), ["PENNYBLACK_API_KEY", "PENNYBLACK_URL"]);
  const ours = {
    ...getDefaultEnvironment(),
    PENNYBLACK_API_KEY: wallet.test,
    PENNYBLACK_URL: api.url,
    npm_config_offline: "true",
  };
  const client = await connect(new StdioClientTransport({ command, args, cwd: installed.folder, env: ours }));
  assert.equal((await client.listTools()).tools.length, 2);

  const [line = ""] = readCodeBlocks(new URL("../README.md", import.meta.url), "sh");
  const child = spawn("/bin/sh", ["-c", `exec ${line.replace("8787", "0")}`], {
    cwd: installed.folder,
    env: ours,
    detached: true,
  });
  try {
    let said = "";
    for await (const chunk of child.stderr) {
      said += String(chunk);
      if (said.includes("Listening on")) break;
    }
    assert.match(said, /Listening on http:\/\/127\.0\.0\.1:\d+\/mcp/);
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid);
  }
});

test("it is small: at most 250 lines", () => {
  const sources = globSync("mcp/src/*.ts", { exclude: ["**/*.test.ts"] }).map((file) => readFileSync(file, "utf8"));
  // As the linter counts: without blank lines and comments.
  const lines = sources
    .join("\n")
    .split("\n")
    .filter((line) => !/^\s*(?:\/\/|\/\*|\*|$)/.test(line));
  assert.ok(lines.length > 100 && lines.length <= 250, `${lines.length} lines`);
});
