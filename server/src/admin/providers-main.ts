import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigFaults, readConfig, upstreamVariables } from "../config/config.ts";
import { formatTable } from "../lib/format-table.ts";
import { formatUsd } from "../lib/money.ts";
import { createCaller } from "../providers/call-provider.ts";
import { createRedactor, makeFixture, nameFixture } from "../providers/make-fixture.ts";
import type { Adapter, Provider, UpstreamAnswer, UpstreamKey, UpstreamReply } from "../providers/provider.ts";
import { adapters } from "../providers/providers.ts";
import { parseOptions, print, printError, UsageError } from "./command.ts";

// npm run providers -- list | probe NAME [--query Q] [--save [--into FOLDER]]
// Exit codes: 0 success, 1 the provider failed or is not configured, 2 usage error.

const usage = `Usage: npm run providers -- <command>

  list
      List all providers with their limits, costs and whether they are configured.
  probe NAME [--query "WORDS"] [--save [--into FOLDER]]
      Run one live search with each key, which the provider may bill. --save writes the first response as a fixture,
      without key and cookies.`;

const options = {
  query: { type: "string", default: "postgresql advisory lock" },
  save: { type: "boolean", default: false },
  into: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

process.exitCode = await run(process.argv.slice(2));

async function run(args: string[]): Promise<number> {
  try {
    const { values, positionals } = parseOptions({ args, options, allowPositionals: true });
    const [command, name, ...rest] = positionals;
    if (values.help || command === undefined) return print(usage);
    if (command === "list" && name === undefined) return list();
    if (command === "probe" && name !== undefined && rest.length === 0) return await probe(name, values);
    throw new UsageError("Unknown command.");
  } catch (error) {
    if (error instanceof ConfigFaults) return printError(error.message, 1);
    if (error instanceof UsageError) return printError(`${error.message}\n\n${usage}`, 2);
    throw error;
  }
}

function list(): number {
  const configured = new Set(readConfig(adapters, ["upstreams"]).upstreams.map(({ name }) => name));
  const rows = adapters.map((adapter) => {
    const provider = describe(adapter);
    const { characters, words } = provider.queryLimit;
    return [
      adapter.name,
      configured.has(adapter.name) ? "yes" : "no",
      upstreamVariables(adapter)[0] ?? "",
      `${characters} characters${words === undefined ? "" : `, ${words} words`}`,
      String(provider.resultsPerPage),
      formatUsd(provider.costMicros(10)),
      formatUsd(provider.costMicros(20)),
      provider.documentation,
    ];
  });
  const heading = [
    "provider",
    "configured",
    "setting",
    "max query",
    "per call",
    "cost of 10",
    "cost of 20",
    "documentation",
  ];
  return print(formatTable(rows, heading));
}

/** Capabilities do not depend on the settings. */
function describe(adapter: Adapter): Provider {
  const fields = adapter.defaultFields ?? { title: "title", url: "url", snippet: "snippet" };
  return adapter.create({ url: "https://upstream.invalid", key: "", fields });
}

async function probe(
  name: string,
  { query, save, into }: { query: string; save: boolean; into?: string },
): Promise<number> {
  const adapter = adapters.find((each) => each.name === name);
  if (!adapter)
    return printError(`Unknown provider "${name}". Providers: ${adapters.map((each) => each.name).join(", ")}.`, 2);
  const upstream = readConfig(adapters, ["upstreams"]).upstreams.find((each) => each.name === name);
  if (!upstream) return printError(`${name} is not configured. Set ${upstreamVariables(adapter)[0]}.`, 1);

  let exitCode = 0;
  for (const [index, key] of upstream.keys.entries()) {
    const { provider, call, answer, replies } = await searchOnce(key, query);
    if (upstream.keys.length > 1) print(`Key ${key.label}:`);
    print(describeAnswer(answer, replies, createRedactor(call)));
    if (!answer.ok) exitCode = 1;
    const [reply] = replies;
    if (!save || !reply || index > 0) continue;
    const folder = into ?? fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
    saveFixture(folder, answer, makeFixture({ provider, call, recordedAt: new Date() }, reply));
  }
  return exitCode;
}

async function searchOnce({ provider }: UpstreamKey, query: string) {
  const search = { query, n: 10 };
  const replies: UpstreamReply[] = [];
  const caller = createCaller({ connectMs: 5_000, headersMs: 20_000, bodyMs: 5_000 }, (reply) => replies.push(reply));
  const signal = new AbortController().signal;
  const answer = await caller.callProvider(provider, search, { signal, deadlineMs: 30_000 });
  await caller.close();
  return { provider, call: provider.request(search, 1), answer, replies };
}

function describeAnswer(
  answer: UpstreamAnswer,
  replies: readonly UpstreamReply[],
  redactKey: (text: string) => string,
): string {
  const statuses = replies.map(({ status }) => status).join(", ") || "none";
  const head = `${answer.provider}: ${answer.tookMs} ms, status ${statuses}`;
  if (answer.ok) {
    const hits = answer.hits.map(({ title, url, snippet }, index) => [
      `${index + 1}. ${title}`,
      `   ${url}`,
      `   ${snippet}`,
    ]);
    return [`${head}, ${answer.hits.length} hits`, ...hits.flat().map(redactKey)].map(readable).join("\n");
  }
  const wait = answer.retryAfterSeconds === undefined ? "" : `, retry after ${answer.retryAfterSeconds} s`;
  const body = redactKey(replies[0]?.body ?? "").slice(0, 1_000);
  return [`${head}, failed: ${answer.reason}${wait}`, readable(body)].join("\n").trimEnd();
}

/** Removes control characters, which could manipulate the operator's terminal. */
function readable(text: string): string {
  return text.replaceAll(/\p{C}+/gu, " ");
}

function saveFixture(folder: string, answer: UpstreamAnswer, fixture: object): void {
  const name = nameFixture(answer);
  if (name === undefined) return;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(fixture, null, 2)}\n`);
  print(`Saved ${path}. Review it and the vendor's terms before you commit it.`);
}
