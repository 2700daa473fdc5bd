#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { createProxy } from "./proxy.ts";

// Connects clients that start MCP servers as local processes to the /mcp endpoint of a Pennyblack server. Messages are lines
// of JSON on stdin and stdout; stdout is reserved for them.

const help = `Usage: pennyblack-mcp [--help] [--version]

Web search for assistants that support the Model Context Protocol (MCP) over stdio.
Passes messages on to the /mcp endpoint of a Pennyblack server. Start it from your
assistant's configuration.

Environment:
  PENNYBLACK_URL      base URL of the Pennyblack server, such as https://search.example.com
  PENNYBLACK_API_KEY  a search key (pb_live_... or pb_test_...); give it a daily budget

Clients that support HTTP can connect to the endpoint without this program.
`;

const { PENNYBLACK_API_KEY: apiKey, PENNYBLACK_URL: baseUrl } = process.env;
const options = readOptions();
if (options.help) process.stdout.write(help);
else if (options.version) process.stdout.write(`${readVersion()}\n`);
else await serve();

function readOptions(): { help?: boolean; version?: boolean } {
  try {
    return parseArgs({ options: { help: { type: "boolean", short: "h" }, version: { type: "boolean" } } }).values;
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}. See pennyblack-mcp --help.`);
  }
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return (manifest as { version: string }).version;
}

async function serve(): Promise<void> {
  if (!apiKey || !baseUrl)
    fail("Set PENNYBLACK_API_KEY to a search key and PENNYBLACK_URL to the base URL of your Pennyblack server.");
  // The error of fetch for an invalid header contains the key.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    fail("PENNYBLACK_API_KEY must have no spaces, line breaks or characters beyond ASCII.");
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl))
    fail("PENNYBLACK_URL must be a URL that starts with https:// or http://.");
  const proxy = createProxy({
    url: `${baseUrl.replace(/\/+$/, "")}/mcp`,
    apiKey,
    send: (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
  });
  const pending = new Set<Promise<void>>();
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    const work = proxy.receive(line).finally(() => pending.delete(work));
    pending.add(work);
  }
  await Promise.all(pending);
}

function fail(message: string): never {
  process.stderr.write(`pennyblack-mcp: ${message}\n`);
  process.exit(2);
}
