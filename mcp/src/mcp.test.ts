import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StdioClientTransport as EarlierTransport,
  getDefaultEnvironment,
} from "@modelcontextprotocol/sdk/client/stdio.js";
import { createFixture } from "../../server/test/fixture.ts";
import { until } from "../../server/test/support/assertions/until.ts";
import {
  type McpClient,
  type Revision,
  revisions,
  toMcpClient,
} from "../../server/test/support/clients/mcp-clients.ts";
import { installPacked } from "../../server/test/support/docs/packed-packages.ts";
import { readCodeBlocks } from "../../server/test/support/docs/read-code-blocks.ts";

// Tests the packed program with the official clients against a real server. server/test/stories/mcp.test.ts tests the tools.

const { server, upstream, createWallet } = await createFixture();
const installed = installPacked();
const program = installed.bin("pennyblack-mcp");
const paths = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: installed.folder };
const clients: McpClient[] = [];

after(async () => {
  await Promise.all(clients.map((client) => client.close()));
  installed.remove();
});

interface Start {
  command: string;
  args?: string[];
  cwd?: string;
  env: Record<string, string>;
}

async function connect(revision: Revision, start: Start): Promise<McpClient> {
  const info = { name: "test", version: "0" };
  const client =
    revision === "2026-07-28"
      ? await toMcpClient(
          new Client(info, { versionNegotiation: { mode: { pin: revision } } }),
          new StdioClientTransport(start),
        )
      : await toMcpClient(new EarlierClient(info), new EarlierTransport(start));
  clients.push(client);
  return client;
}

const start = (key: string, url = server.url): Start => ({
  command: program,
  env: { ...paths, PENNYBLACK_API_KEY: key, PENNYBLACK_URL: url },
});

for (const revision of revisions) {
  test(`${revision}: passes on tools, results, progress, errors and cancellations`, async () => {
    const wallet = await createWallet("0.03");
    const client = await connect(revision, start(wallet.live));
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["web_search", "get_balance"],
    );
    const seen: number[] = [];
    const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress);
    // The earlier client drops a notification that arrives together with the response, so only the first is certain.
    await upstream.behave("slow_headers", { everyMs: 300 });
    const found = await client.call("web_search", { query: "penny black", n: 2 }, { onprogress });
    await upstream.behave("ok");
    assert.deepEqual([found.isError, found.structured?.results.length, seen[0]], [false, 2, 1], found.text);
    assert.equal((await client.call("web_search", { q: "cats" })).isError, true);

    await upstream.behave("stall_in_body");
    const cancel = new AbortController();
    const received = upstream.requests.length;
    const rejected = assert.rejects(client.call("web_search", { query: "slow" }, { signal: cancel.signal }));
    await until("the upstream is queried", () => upstream.requests.length > received);
    cancel.abort();
    await rejected;
    await until("the hold is released", async () => (await server.readMoney(wallet.management)).held === "0.00");
    const { body } = await server.manage(wallet.management, "GET", "/v1/searches?limit=1");
    assert.equal(body.searches[0].outcome, "caller_left");
    await upstream.behave("ok");
    assert.equal((await client.call("web_search", { query: "cats" })).isError, false);
    assert.deepEqual(await server.readMoney(wallet.management), { balance: "0.01", held: "0.00" });
  });
}

test("reports an invalid key and a server that does not respond", async () => {
  const connecting = connect("2025-11-25", start(`pb_live_${"a".repeat(36)}`));
  await assert.rejects(connecting, /You were not charged.*api_key_invalid/);
  const unreachable = connect("2025-11-25", start("pb_live_x", "http://127.0.0.1:9"));
  await assert.rejects(unreachable, /No response from the Pennyblack server: .*Check PENNYBLACK_URL/);
});

test("a search whose response is lost is repeated and charged once", async () => {
  const wallet = await createWallet("1.00");
  let isLossy = false;
  const lossyProxy = createServer((incoming, response) => {
    const forward = async (): Promise<void> => {
      const names = Object.entries(incoming.headers).filter(([name]) => name !== "connection" && name !== "host");
      const headers = Object.fromEntries(names) as Record<string, string>;
      const answer = await fetch(server.url + incoming.url, { method: "POST", headers, body: await text(incoming) });
      const body = await answer.text();
      if (isLossy) response.destroy();
      else response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(body);
      isLossy = false;
    };
    forward().catch(() => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(lossyProxy, "listening");
  try {
    const url = `http://127.0.0.1:${(lossyProxy.address() as AddressInfo).port}`;
    const client = await connect("2026-07-28", start(wallet.live, url));
    isLossy = true;
    const reply = await client.call("web_search", { query: "cats", n: 1 });
    assert.match(reply.text, /^1 result\. Charged by an earlier attempt/);
    assert.equal((await server.readMoney(wallet.management)).balance, "0.99");
  } finally {
    lossyProxy.close();
  }
});

test("prints its usage and version, and exits with 2 if it is used or configured incorrectly", async () => {
  const valid = { PENNYBLACK_API_KEY: "pb_live_x", PENNYBLACK_URL: server.url };
  const cases: [args: string[], env: Record<string, string>, code: number, output: RegExp][] = [
    [["--help"], {}, 0, /^Usage: pennyblack-mcp.*PENNYBLACK_API_KEY/s],
    [["--version"], {}, 0, new RegExp(`^${installed.manifests.mcp.version.replaceAll(".", "\\.")}\n$`)],
    [["--http"], valid, 2, /^pennyblack-mcp: Unknown option '--http'.*--help/s],
    [[], {}, 2, /^pennyblack-mcp: Set PENNYBLACK_API_KEY/],
    [[], { ...valid, PENNYBLACK_API_KEY: "" }, 2, /^pennyblack-mcp: Set PENNYBLACK_API_KEY/],
    [[], { ...valid, PENNYBLACK_API_KEY: "pb_live_\nx" }, 2, /PENNYBLACK_API_KEY must have no spaces, line breaks/],
    [[], { ...valid, PENNYBLACK_URL: "search.example.com" }, 2, /PENNYBLACK_URL must be a URL/],
  ];
  for (const [args, env, code, expected] of cases) {
    const child = spawn(program, args, { env: { ...paths, ...env } });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    assert.match(out + err, expected);
    assert.equal(child.exitCode, code);
  }
  const invalid = spawn(program, { env: { ...paths, ...valid } });
  invalid.stdin.end("not JSON\n");
  assert.match(await text(invalid.stdout), /"code":-32700/);
});

test("the README's configuration starts it with npx, and server.json describes the same program", async () => {
  const wallet = await createWallet("0.10");
  const [block = ""] = readCodeBlocks(new URL("../README.md", import.meta.url), "json");
  const { command, args, env: documented } = JSON.parse(block).mcpServers.pennyblack;
  const env = { ...getDefaultEnvironment(), ...start(wallet.test).env, npm_config_offline: "true" };
  const client = await connect("2025-11-25", { command, args, cwd: installed.folder, env });
  assert.equal((await client.listTools()).tools.length, 2);

  const read = (file: string) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"));
  const [manifest, description] = [read("package.json"), read("server.json")];
  const [packaged] = description.packages;
  assert.deepEqual([description.name, description.version], [manifest.mcpName, manifest.version]);
  assert.deepEqual([packaged.identifier, packaged.version], [manifest.name, manifest.version]);
  const names: string[] = packaged.environmentVariables.map(({ name }: { name: string }) => name);
  assert.deepEqual(names.toSorted(), Object.keys(documented).toSorted());
  // The registry's limit.
  assert.ok(description.description.length <= 100);
});
