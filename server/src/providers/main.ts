import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { UsageError } from "../admin/command.ts";
import { formatTable } from "../admin/format-table.ts";
import { ConfigFaults, readConfig, upstreamVariables } from "../config.ts";
import { formatUsd } from "../lib/money.ts";
import { createCaller } from "./call-provider.ts";
import { hideKeyOf, makeFixture, nameFixture } from "./make-fixture.ts";
import type { Adapter, Provider, UpstreamAnswer, UpstreamReply } from "./provider.ts";
import { adapters } from "./providers.ts";

// npm run providers -- list | probe NAME [--query Q] [--save [--into FOLDER]]
// Exit 0: done. 1: the provider did not answer, or is not switched on. 2: it was written wrongly.

const usage = `npm run providers -- <command>

  list
      What each provider can do, what it costs, and which of them are switched on.
  probe NAME [--query "WORDS"] [--save [--into FOLDER]]
      Ask it one live search, which it may bill. --save keeps the answer as a fixture, without key and cookies.`;

const options = {
  query: { type: "string", default: "postgresql advisory lock" },
  save: { type: "boolean", default: false },
  into: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

type Options = ReturnType<typeof readArguments>["values"];

process.exitCode = await run(process.argv.slice(2));

async function run(words: string[]): Promise<number> {
  try {
    const { values, positionals } = readArguments(words);
    const [command, name, ...rest] = positionals;
    if (values.help || command === undefined) return print(usage);
    if (command === "list" && name === undefined) return list();
    if (command === "probe" && name !== undefined && rest.length === 0) return await probe(name, values);
    throw new UsageError("That is not a command.");
  } catch (error) {
    if (error instanceof ConfigFaults) return complain(error.message, 1);
    if (error instanceof UsageError) return complain(`${error.message}\n\n${usage}`, 2);
    throw error;
  }
}

function readArguments(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.split(". ")[0] ?? error.message);
  }
}

function list(): number {
  const switchedOn = new Set(readConfig(["upstreams"]).upstreams.map(({ name }) => name));
  const rows = adapters.map((adapter) => {
    const provider = describe(adapter);
    const { characters, words } = provider.longestQuery;
    return [
      adapter.name,
      switchedOn.has(adapter.name) ? "on" : "off",
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
    "",
    "switched on by",
    "longest query",
    "per call",
    "10 cost",
    "20 cost",
    "documentation",
  ];
  return print(formatTable(rows, heading));
}

/** Its capabilities are the same wherever it is reached. */
function describe(adapter: Adapter): Provider {
  const fields = adapter.usualFields ?? { title: "title", url: "url", snippet: "snippet" };
  return adapter.create({ url: "https://upstream.invalid", key: "", fields });
}

async function probe(name: string, { query, save, into }: Options): Promise<number> {
  const adapter = adapters.find((each) => each.name === name);
  if (!adapter)
    return complain(`There is no provider "${name}". There are: ${adapters.map((a) => a.name).join(", ")}.`, 2);
  const provider = readConfig(["upstreams"]).upstreams.find((each) => each.name === name);
  if (!provider) return complain(`${name} is not switched on. Set ${upstreamVariables(adapter)[0]}.`, 1);

  const search = { query, n: 10 };
  const replies: UpstreamReply[] = [];
  const caller = createCaller({ connectMs: 5_000, headersMs: 20_000, bodyMs: 5_000 }, (reply) => replies.push(reply));
  const signal = new AbortController().signal;
  const answer = await caller.callProvider(provider, search, { signal, deadlineMs: 30_000 });
  await caller.close();

  const call = provider.request(search, 1);
  print(tell(answer, replies, hideKeyOf(call)));
  const [first] = replies;
  if (save && first) {
    const folder = into ?? fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
    saveFixture(folder, answer, makeFixture({ provider, call, recordedAt: new Date() }, first));
  }
  return answer.ok ? 0 : 1;
}

function tell(answer: UpstreamAnswer, replies: readonly UpstreamReply[], hide: (text: string) => string): string {
  const statuses = replies.map(({ status }) => status).join(", ") || "none";
  const head = `${answer.provider}: ${answer.tookMs} ms, status ${statuses}`;
  if (answer.ok) {
    const hits = answer.hits.map(({ title, url, snippet }, index) => [
      `${index + 1}. ${title}`,
      `   ${url}`,
      `   ${snippet}`,
    ]);
    return [`${head}, ${answer.hits.length} hits`, ...hits.flat().map(hide)].map(readable).join("\n");
  }
  const wait = answer.retryAfterSeconds === undefined ? "" : `, wait ${answer.retryAfterSeconds} s`;
  const said = hide(replies[0]?.body ?? "").slice(0, 1_000);
  return [`${head}, failed: ${answer.reason}${wait}`, readable(said)].join("\n").trimEnd();
}

/** An upstream's text must not move the cursor of the operator's terminal. */
function readable(text: string): string {
  return text.replaceAll(/\p{C}+/gu, " ");
}

function saveFixture(folder: string, answer: UpstreamAnswer, fixture: object): void {
  const name = nameFixture(answer);
  if (name === undefined) return;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify(fixture, null, 2)}\n`);
  print(`Saved as ${path}. Before you commit it, read it, and the vendor's terms.`);
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function complain(text: string, exitCode: number): number {
  process.stderr.write(`${text}\n`);
  return exitCode;
}
