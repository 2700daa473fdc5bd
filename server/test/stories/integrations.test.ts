import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { test } from "node:test";
import type { Dialect } from "../../src/dialects/dialect.ts";
import { dialects } from "../../src/dialects/dialects.ts";
import { createFixture } from "../fixture.ts";
import type { Reply } from "../support/services/server.ts";

// The requests that products and libraries send, recorded from their source and sent to a server as they are. Each page in
// docs/integrations links the source of every request of its product, and a request that the server refuses fails here.

const root = resolve(import.meta.dirname, "../../..");
const { server, createWallet } = await createFixture();
const { test: key } = await createWallet();

interface Fixture {
  client: string;
  source: string;
  /** With `{key}` for the API key. */
  headers?: Record<string, string>;
}

interface DialectFixture extends Fixture {
  parameters: Record<string, unknown>;
  search: { n: number };
  ignored: string[];
  /** Parameters that the product sends for some searches, and the group that ignores them. */
  refused?: { parameters: Record<string, unknown>; group?: string }[];
}

interface McpFixture extends Fixture {
  /** Sent after the first message, with `{session}` for the id that the server returned. */
  laterHeaders: Record<string, string>;
  messages: { id?: number; method: string; params?: { protocolVersion?: string } }[];
}

interface SearchFixture extends Fixture {
  body: { n: number };
}

interface RecordedRequest {
  path: string;
  /** Part of the URL that a user of the product enters. */
  endpoint: string;
  fixture: Fixture;
  replay: () => Promise<void>;
}

const requests: RecordedRequest[] = [
  ...dialects.flatMap((dialect) =>
    readFixtures(`server/src/dialects/fixtures/${dialect.name}`).map(({ path, fixture }) => ({
      path,
      endpoint: `/compat/${dialect.name}`,
      fixture,
      replay: () => replayDialect(dialect, fixture as DialectFixture),
    })),
  ),
  ...readFixtures("server/src/mcp/fixtures").map(({ path, fixture }) => ({
    path,
    endpoint: "/mcp",
    fixture,
    replay: () => replayMcp(fixture as McpFixture),
  })),
  ...readFixtures("server/src/search/fixtures").map(({ path, fixture }) => ({
    path,
    endpoint: "/v1/search",
    fixture,
    replay: () => replaySearch(fixture as SearchFixture),
  })),
];

function readFixtures(folder: string): { path: string; fixture: Fixture }[] {
  const basic = Buffer.from(`key:${key}`).toString("base64");
  return globSync(`${folder}/request-*.json`, { cwd: root })
    .toSorted()
    .map((path) => {
      const text = readFileSync(resolve(root, path), "utf8");
      return { path, fixture: JSON.parse(text.replaceAll("{key}", key).replaceAll("{basic}", basic)) as Fixture };
    });
}

function sendDialect({ name, path, method }: Dialect, { parameters, headers }: DialectFixture): Promise<Reply> {
  const url = `/compat/${name}${path}`;
  const sent = headers ?? { authorization: `Bearer ${key}` };
  if (method === "POST") return post(url, parameters, sent);
  const query = new URLSearchParams(parameters as Record<string, string>).toString();
  return server.request(`${url}?${query}`, { headers: sent });
}

async function replayDialect(dialect: Dialect, fixture: DialectFixture): Promise<void> {
  const reply = await sendDialect(dialect, fixture);
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get("pennyblack-ignored") ?? "", fixture.ignored.join(", "));
  const urls = new Set(reply.text.match(/"https?:[^"]+"/g));
  assert.equal(urls.size, fixture.search.n, reply.text);

  for (const { parameters, group } of fixture.refused ?? []) {
    const request = { ...fixture, parameters: { ...fixture.parameters, ...parameters } };
    const refused = await sendDialect(dialect, request);
    assert.deepEqual([refused.status, refused.headers.get("wallet-charge")], [400, "0.00;currency=usd"], refused.text);
    if (group === undefined) continue;
    assert.ok(refused.body.errors.length === 1 && refused.text.includes(`add \`${group}\` to`), refused.text);
    const headers = { ...fixture.headers, "pennyblack-ignore": group };
    const ignored = await sendDialect(dialect, { ...request, headers });
    assert.equal(ignored.status, 200, ignored.text);
  }
}

async function replayMcp({ headers = {}, laterHeaders, messages }: McpFixture): Promise<void> {
  let later: Record<string, string> = {};
  for (const message of messages) {
    const { id, method, params } = message;
    const reply = await post("/mcp", message, { ...headers, ...later });
    if (id === undefined) {
      assert.equal(reply.status, 202, reply.text);
      continue;
    }
    assert.equal(reply.status, 200, reply.text);
    const { result } = readMessage(reply);
    if (method === "initialize") {
      assert.equal(result.protocolVersion, params?.protocolVersion);
      const session = reply.headers.get("mcp-session-id") ?? assert.fail("no session id");
      later = JSON.parse(JSON.stringify(laterHeaders).replaceAll("{session}", session));
    } else if (method === "tools/list") {
      assert.deepEqual(
        result.tools.map(({ name }: { name: string }) => name),
        ["web_search", "get_balance"],
      );
    } else {
      assert.ok(result.isError !== true && result.structuredContent.results.length > 0, reply.text);
    }
  }
}

/** A response of /mcp is JSON, or a stream with one message. */
function readMessage({ text }: Reply) {
  return JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
}

async function replaySearch({ headers = {}, body }: SearchFixture): Promise<void> {
  const reply = await post("/v1/search", body, headers);
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.body.results.length, body.n);
  if (headers["search-run"]) assert.match(reply.headers.get("search-run") ?? "", /; spent=0\.01; left=/);
}

function post(path: string, body: unknown, headers: Record<string, string>): Promise<Reply> {
  return server.request(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

for (const { path, fixture, replay } of requests) {
  test(`the request of ${fixture.client} in ${path} is accepted as it is sent`, replay);
}

const pages = globSync("docs/integrations/*.md", { cwd: root }).toSorted();

for (const page of pages) {
  const text = readFileSync(resolve(root, page), "utf8");
  const name = basename(page, ".md");
  const own = requests.filter(({ path }) => basename(path) === `request-${name}.json`);

  test(`${page} links the source of each recorded request of its product, and no other`, () => {
    const linked = requests.filter(({ fixture: { source } }) => text.includes(`(${source})`));
    assert.deepEqual(
      linked.map(({ path }) => path),
      own.map(({ path }) => path),
    );
    assert.notEqual(own.length, 0, `${page} has no recorded request`);
    for (const { endpoint, fixture } of own) {
      assert.ok(text.includes(endpoint), `${page} does not name ${endpoint}`);
      assert.ok(text.startsWith(`# ${fixture.client}\n`), `${page} is not about ${fixture.client}`);
      assert.ok(fixture.headers, `the request of ${fixture.client} to ${endpoint} has no headers`);
      const { refused = [] } = fixture as Partial<DialectFixture>;
      for (const { group } of refused) assert.ok(text.includes(`\`${group ?? "query"}\``), `${page}: ${group}`);
    }
  });

  test(`${page} is in the sidebar and in the list of docs/integrators.md`, () => {
    const read = (path: string) => readFileSync(resolve(root, path), "utf8");
    assert.ok(read("docs/.vitepress/config.ts").includes(`"/integrations/${name}"`));
    assert.ok(read("docs/integrators.md").includes(`(integrations/${name}.md)`));
  });
}

test("recorded requests without a page are those of libraries and of programs that cannot send a key", () => {
  const products = pages.map((page) => `request-${basename(page, ".md")}.json`);
  assert.deepEqual(
    requests.map(({ path }) => basename(path)).filter((file) => !products.includes(file)),
    [
      "request-langchain-python.json",
      "request-langchain.json",
      "request-tavily-core.json",
      "request-client.json",
      "request-exa-js.json",
      "request-vane.json",
    ],
  );
});
