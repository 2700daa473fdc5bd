import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { CostCap } from "../lib/cost-cap.ts";
import { type Micros, parseUsd } from "../lib/money.ts";
import type { Adapter, FieldNames, Upstream, UpstreamKey } from "../providers/provider.ts";
import { ConfigFaults, Fault, httpUrl, type Parse } from "./parse-setting.ts";

const upstreamFile = "PENNYBLACK_UPSTREAM_FILE";
const upstreamOrder = "PENNYBLACK_UPSTREAMS";

export function upstreams(
  orderOfProcess: string | undefined,
  ofProcess: NodeJS.ProcessEnv,
  adapters: readonly Adapter[],
): Upstream[] {
  const inFile = readUpstreamFile(ofProcess[upstreamFile]?.trim(), adapters);
  const environment = { ...ofProcess, ...inFile };
  const order = inFile[upstreamOrder]?.trim() || orderOfProcess;
  const faults: string[] = [];
  const enabled = new Map<string, Upstream>();
  for (const adapter of adapters) {
    try {
      const upstream = readUpstream(adapter, environment);
      if (upstream) enabled.set(adapter.name, upstream);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(error.message);
    }
  }
  const names = order?.split(",").map((name) => name.trim());
  if (names && (new Set(names).size < names.length || !names.every((name) => enabled.has(name)))) {
    const choices = [...enabled.keys()].join(", ") || "none";
    faults.push(`${upstreamOrder} must list configured providers (${choices}), each once`);
  }
  if (faults.length > 0) throw new ConfigFaults(faults);
  if (names) return names.flatMap((name) => enabled.get(name) ?? []);
  return [...enabled.values()].toSorted((a, b) => Number(costOf(a) - costOf(b)));
}

function costOf({ keys: [{ provider }] }: Upstream): Micros {
  return provider.costMicros(10);
}

/** Settings in a file can change while the server runs, unlike its environment. */
function readUpstreamFile(file: string | undefined, adapters: readonly Adapter[]): NodeJS.ProcessEnv {
  if (!file) return {};
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigFaults([
      `${upstreamFile} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  const read = parseEnv(text);
  const known = [upstreamOrder, ...adapters.flatMap(upstreamVariables)];
  const unknown = Object.keys(read).filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new ConfigFaults(unknown.map((name) => `${upstreamFile}: ${name} is not a setting of an upstream`));
  return read;
}

/** Undefined if the provider is not configured. */
function readUpstream(adapter: Adapter, environment: NodeJS.ProcessEnv): Upstream | undefined {
  const { name, defaultUrl, defaultFields } = adapter;
  const [enabledBy = "", ...others] = upstreamVariables(adapter);
  const readPart = (part: string): string | undefined => environment[upstreamVariable(name, part)]?.trim() || undefined;
  if (!environment[enabledBy]?.trim()) {
    const unused = others.find((variable) => environment[variable]?.trim());
    if (unused !== undefined) throw new Fault(`${unused} has no effect without ${enabledBy}`);
    return undefined;
  }
  const parsePart = <Value>(part: string, parse: Parse<Value>, byDefault: Value | undefined): Value | undefined => {
    const text = readPart(part);
    try {
      return text === undefined ? byDefault : parse(text);
    } catch (error) {
      throw error instanceof Fault ? new Fault(`${upstreamVariable(name, part)} ${error.message}`) : error;
    }
  };
  const isPool = adapter.key === "required";
  const keys = parsePart("KEY", isPool ? keyPool : (text) => [printable(text)], [""]) ?? [];
  const fields = parsePart("FIELDS", fieldNames, defaultFields) ?? { title: "title", url: "url", snippet: "snippet" };
  const url = defaultUrl ?? parsePart("URL", httpUrl, undefined) ?? "";
  const [first, ...rest] = keys.map((key): UpstreamKey => {
    const provider = adapter.create({ url, key, fields });
    return { label: isPool ? labelOf(key) : undefined, provider };
  });
  return first && { name, keys: [first, ...rest], cap: parsePart("CAP", costCap, undefined) };
}

/** Keys of one account or of several. */
function keyPool(text: string): string[] {
  const keys = printable(text)
    .split(",")
    .map((key) => key.trim());
  if (keys.includes("")) throw new Fault("has an empty key in its list");
  if (new Set(keys).size < keys.length) throw new Fault("names a key twice");
  return keys;
}

function printable(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new Fault("must be printable ASCII");
  return text;
}

const shownCharacters = 4;

/** For operators. It does not reveal most of a short key. */
function labelOf(key: string): string {
  if (key.length < 4 * shownCharacters) return "...";
  return `${key.slice(0, shownCharacters)}...${key.slice(-shownCharacters)}`;
}

function fieldNames(text: string): FieldNames {
  const [title, url, snippet, ...rest] = text.split(",").map((part) => part.trim());
  if (!title || !url || !snippet || rest.length > 0) throw new Fault('must look like "title,url,body"');
  return { title, url, snippet };
}

function costCap(text: string): CostCap {
  const [, usd = "", period] = /^([\d.]+)\/(day|month)$/.exec(text) ?? [];
  const amount = parseUsd(usd);
  if (!amount || (period !== "day" && period !== "month"))
    throw new Fault('must be an amount in USD per day or month, such as "20.00/day"');
  return { amount, period };
}

/** The setting that enables a provider, then its others. A vendor whose key is required charges for calls. */
export function upstreamVariables({ name, defaultUrl, key, defaultFields }: Adapter): string[] {
  const parts = defaultUrl === undefined ? ["URL", ...(key === "none" ? [] : ["KEY"])] : ["KEY"];
  const others = [...(defaultFields ? ["FIELDS"] : []), ...(key === "required" ? ["CAP"] : [])];
  return [...parts, ...others].map((part) => upstreamVariable(name, part));
}

function upstreamVariable(provider: string, part: string): string {
  return `PENNYBLACK_${provider.toUpperCase()}_${part}`;
}
