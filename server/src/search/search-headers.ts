import { describeText, didYouMean, headerFault, invalidHeader, invalidInput, listWords } from "../http/input/faults.ts";
import { endUserPattern } from "../lib/end-user-id.ts";
import { findRunRule, type MaxRun } from "../lib/max-run.ts";
import { formatUsd, type Micros, parseUsd, priceMicros } from "../lib/money.ts";
import { suggest } from "../lib/suggest.ts";

export interface Run {
  name: string;
  maxMicros: Micros;
  ttlSeconds: number;
}

const defaultTtlSeconds = 3_600;
const maxTtlSeconds = 30 * 24 * 3_600;
const runParameters = ["max", "ttl"];
const maxRunLength = 500;

/** `Search-Run: <id>; max=0.50; ttl=3600`. `max` is required on every request, so that no run is unlimited by mistake. */
export function readRun(header: string | undefined, maxRun?: MaxRun): Run | undefined {
  const run = header === undefined ? undefined : parseRun(header);
  const rule = findRunRule(maxRun, run?.maxMicros);
  if (rule !== undefined) throw invalidHeader("Search-Run", rule);
  return run;
}

function parseRun(header: string): Run {
  if (header.length > maxRunLength) {
    throw invalidHeader("Search-Run", `must have at most ${maxRunLength} characters, but ${describeText(header)}`);
  }
  const [name = "", ...parameters] = header.split(";").map((part) => part.trim());
  const rules: string[] = [];
  if (!/^[\w.:@/-]{1,128}$/.test(name)) {
    const rule = "must start with a name of 1 to 128 letters, digits or any of `_.:@/-`";
    rules.push(`${rule}, but the name ${describeText(name)}`);
  }
  const values = readRunParameters(parameters, rules);
  const run = { name, maxMicros: readMax(values.get("max"), rules), ttlSeconds: readTtl(values.get("ttl"), rules) };
  if (rules.length > 0) throw invalidInput(rules.map((rule) => headerFault("Search-Run", rule)));
  return run;
}

function readRunParameters(parameters: readonly string[], rules: string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const parameter of parameters) {
    const [name = ""] = parameter.split("=", 1);
    if (values.has(name)) rules.push(`has the parameter \`${name}\` more than once`);
    else if (runParameters.includes(name)) values.set(name, parameter.slice(name.length + 1));
    else rules.push(describeUnknownParameter(name));
  }
  return values;
}

function describeUnknownParameter(name: string): string {
  const meant = suggest(name, runParameters);
  const hint =
    meant === undefined ? `; the parameters are ${listWords(runParameters, "and")}` : ` ${didYouMean(meant)}`;
  return `has an unknown parameter${hint}`;
}

function readMax(text: string | undefined, rules: string[]): Micros {
  const max = parseUsd(text ?? "");
  if (text === undefined) rules.push("must have a `max`, the budget in USD, as in `my-run; max=0.50`");
  else if (max === undefined)
    rules.push(`must have an amount in USD such as \`0.50\` as \`max\`, but it ${describeText(text)}`);
  else if (max < priceMicros) {
    rules.push(
      `must have a \`max\` of at least ${formatUsd(priceMicros)} USD, the price of a search, but it is ${text}`,
    );
  }
  return max ?? 0n;
}

function readTtl(text: string | undefined, rules: string[]): number {
  if (text === undefined) return defaultTtlSeconds;
  const ttl = Number(text);
  if (!/^\d{1,9}$/.test(text) || ttl < 1 || ttl > maxTtlSeconds) {
    const range = `1 to ${maxTtlSeconds.toLocaleString("en-US")} (30 days)`;
    rules.push(`must have an integer number of seconds from ${range} as \`ttl\`, but it ${describeText(text)}`);
  }
  return ttl;
}

/** `Search-For: <id>`: the caller's ID for the person or task on whose behalf it searches. */
export function readEndUser(header: string | undefined): string | undefined {
  if (header === undefined || endUserPattern.test(header)) return header;
  const rule = "must be an id of 1 to 64 letters, digits or any of `_.:@/+=|-`";
  throw invalidHeader("Search-For", `${rule}, but ${describeText(header)}`);
}

const ownHeaders = {
  "idempotency-key": "Idempotency-Key",
  "search-for": "Search-For",
  "search-run": "Search-Run",
  "rank-explain": "Rank-Explain",
  "rank-registries": "Rank-Registries",
};

/** Node joins repeated header lines with ", ", which would make one valid Idempotency-Key of two. */
export function assertSentOnce(rawHeaders: readonly string[], headers: Record<string, string | undefined>): void {
  for (const [name, title] of Object.entries(ownHeaders)) {
    if (!headers[name]?.includes(", ")) continue;
    const count = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
    if (count > 1) throw invalidHeader(title, `must be sent once, but was sent ${count} times`);
  }
}

const switchValues = new Map([
  ["1", true],
  ["true", true],
  ["0", false],
  ["false", false],
]);

export interface RankOptions {
  /** `Rank-Explain: 1`, or `true` as in a body. */
  isExplained: boolean;
  /** `Rank-Registries: 0` ranks by the hand-written rules only. */
  hasRegistries: boolean;
}

export function readRankOptions(headers: Record<string, string | undefined>): RankOptions {
  return {
    isExplained: readSwitch("Rank-Explain", headers["rank-explain"]) ?? false,
    hasRegistries: readSwitch("Rank-Registries", headers["rank-registries"]) ?? true,
  };
}

function readSwitch(name: string, header: string | undefined): boolean | undefined {
  if (header === undefined) return undefined;
  const isOn = switchValues.get(header.toLowerCase());
  if (isOn !== undefined) return isOn;
  const choices = listWords([...switchValues.keys()]);
  throw invalidHeader(name, `must be one of ${choices}, but ${describeText(header)}`);
}

const maxWaitSeconds = 10;

/**
 * The seconds in `Prefer: wait=2` (RFC 7240), for which the caller is willing to wait, counted from its request. Values beyond our
 * deadline and unrecognized values are ignored, as the RFC requires. `Preference-Applied` confirms an applied one.
 */
export function readWait(header: string | undefined): number | undefined {
  const wait = header
    ?.split(",")
    .map((preference) => /^\s*wait\s*=\s*"?(\d{1,4})"?\s*(?:;.*)?$/i.exec(preference)?.[1])
    .find((seconds) => seconds !== undefined);
  const seconds = Number(wait);
  return wait !== undefined && seconds >= 1 && seconds < maxWaitSeconds ? seconds : undefined;
}

/** The time left for the upstreams, or to wait for the database. */
export function timeLeftMs(waitSeconds: number | undefined, elapsedMs: number): number {
  return waitSeconds === undefined ? maxWaitSeconds * 1_000 : Math.max(0, waitSeconds * 1_000 - elapsedMs);
}
