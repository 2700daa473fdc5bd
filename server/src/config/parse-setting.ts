import { isIP } from "node:net";
import type { Operator } from "../http/operator-auth.ts";
import type { Pepper } from "../keys/keys.ts";
import { type Micros, parseUsd } from "../lib/money.ts";
import { spreadHosts } from "../lib/spread-hosts.ts";

// Parsers of settings. A fault states the rule, never the value, which may be a secret.

/** All faults of a configuration. */
export class ConfigFaults extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The configuration has ${faults.length} error(s):\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}

/** The message completes a sentence that starts with the name of the setting. */
export class Fault extends Error {}

export type Parse<Value> = (text: string) => Value;

export function required<Value>(parse: Parse<Value>) {
  return (text: string | undefined): Value => {
    if (text === undefined) throw new Fault("is required");
    return parse(text);
  };
}

export function optional<Value>(parse: Parse<Value>) {
  return (text: string | undefined): Value | undefined => (text === undefined ? undefined : parse(text));
}

export function withDefault<Value>(value: Value, parse: Parse<Value>) {
  return (text: string | undefined): Value => (text === undefined ? value : parse(text));
}

/** A setting that has no effect without another one. */
export function onlyWith<Value>(other: string, parse: Parse<Value>) {
  return (text: string | undefined, environment: NodeJS.ProcessEnv): Value | undefined => {
    if (text === undefined) return undefined;
    if (!environment[other]?.trim()) throw new Fault(`has no effect without ${other}`);
    return parse(text);
  };
}

/** A setting that another one requires. */
export function requiredWith<Value>(other: string, parse: Parse<Value>) {
  return (text: string | undefined, environment: NodeJS.ProcessEnv): Value | undefined => {
    if (text !== undefined) return parse(text);
    if (environment[other]?.trim()) throw new Fault(`is required with ${other}`);
    return undefined;
  };
}

export function mailAddress(text: string): string {
  if (!/^[^@\r\n]+@[^@\r\n]+$/.test(text)) throw new Fault('must look like "Pennyblack <alerts@example.com>"');
  return text;
}

export function cellName(text: string): string {
  if (!/^[a-z0-9]{3}$/.test(text)) throw new Fault("must be three lower-case letters or digits, such as eu1");
  return text;
}

export function integer(min: number, max: number): Parse<number> {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) throw new Fault(`must be an integer from ${min} to ${max}`);
    return value;
  };
}

export function ratio(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 1)) throw new Fault("must be a number from 0 to 1");
  return value;
}

export function usd(text: string): Micros {
  const amount = parseUsd(text);
  if (amount === undefined) throw new Fault("must be an amount in USD such as 0.50");
  return amount;
}

export function oneOf<Choice extends string>(...choices: Choice[]): Parse<Choice> {
  return (text) => {
    const choice = choices.find((each) => each === text);
    if (choice === undefined) throw new Fault(`must be one of ${choices.join(", ")}`);
    return choice;
  };
}

export function urlOf(...protocols: string[]): Parse<string> {
  return (text) => {
    if (!URL.canParse(text) || !protocols.includes(new URL(text).protocol)) {
      throw new Fault(`must be a URL that starts with ${protocols.join(" or ")}`);
    }
    return text;
  };
}

export function postgresUrl(text: string): string {
  const hosts = spreadHosts(text);
  for (const host of hosts) {
    urlOf("postgres:", "postgresql:")(host);
    if (hosts.length > 1 && new URL(host).hostname === "") throw new Fault("has an empty host in its list of hosts");
  }
  return text;
}

export function httpUrl(text: string): string {
  const url = new URL(urlOf("http:", "https:")(text));
  if (url.username || url.password || url.search || url.hash)
    throw new Fault("must not have credentials, a query or a fragment");
  return url.href.replace(/\/$/, "");
}

export function secretText(text: string): string {
  if (!/^[\x21-\x7e]{8,}$/.test(text)) throw new Fault("must be 8 or more printable characters without spaces");
  return text;
}

/** Stripe's minimum charge is 0.50 USD: https://docs.stripe.com/currencies#minimum-and-maximum-charge-amounts */
export function topUpAmount(text: string): Micros {
  const amount = parseUsd(text);
  if (amount === undefined || amount < 500_000n || amount > 999_999_000_000n || amount % 10_000n !== 0n) {
    throw new Fault("must be an amount in whole cents from 0.50 to 999999.00");
  }
  return amount;
}

export function topUpMax(text: string | undefined, environment: NodeJS.ProcessEnv): Micros {
  const max = text === undefined ? 1_000_000_000n : topUpAmount(text);
  const min = parseUsd(environment["PENNYBLACK_TOP_UP_MIN"]?.trim() || "5.00");
  if (min !== undefined && max < min) throw new Fault("must not be less than PENNYBLACK_TOP_UP_MIN");
  return max;
}

function secretBytes(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  // Not 1:<base64>: that would decode to another secret.
  if (bytes.length < 32 || text.includes(":"))
    throw new Fault("must be at least 32 random bytes in base64 (openssl rand -base64 32)");
  return bytes;
}

/** Seeds of Ed25519 keys. The first one signs. */
export function signingSeeds(text: string): Buffer[] {
  const seeds = text.split(",").map((part) => Buffer.from(part.trim(), "base64"));
  if (seeds.some((seed) => seed.length !== 32)) {
    throw new Fault("must be 32 random bytes in base64 (openssl rand -base64 32), or several separated by commas");
  }
  if (new Set(seeds.map((seed) => seed.toString("hex"))).size < seeds.length) throw new Fault("names a key twice");
  return seeds;
}

/** The first one writes. */
export function peppers(text: string): Pepper[] {
  const list = text.split(",").map((part) => {
    const match = /^\s*([1-9]\d{0,3}):(.+)$/.exec(part);
    if (!match) throw new Fault('must look like "1:<base64>" or "1:<base64>,2:<base64>"');
    return { version: Number(match[1]), bytes: secretBytes(match[2] ?? "") };
  });
  if (new Set(list.map((pepper) => pepper.version)).size < list.length) throw new Fault("names a version twice");
  return list;
}

/** The first one writes. */
export function secrets(text: string): Buffer[] {
  const list = text.split(",").map((part) => secretBytes(part.trim()));
  if (new Set(list.map((bytes) => bytes.toString("hex"))).size < list.length) throw new Fault("names a secret twice");
  return list;
}

export function operatorTokens(text: string): Operator[] {
  const list = text.split(",").map((part) => {
    const [, name, token] = /^\s*([\w.@-]{1,64}):(\S{32,})\s*$/.exec(part) ?? [];
    if (!name || !token) throw new Fault('must look like "alice:<token>", with tokens of at least 32 characters');
    return { name, token };
  });
  if (new Set(list.map(({ name }) => name)).size < list.length) throw new Fault("names an operator twice");
  return list;
}

export function addresses(text: string): string[] {
  const list = text.split(",").map((part) => part.trim());
  for (const entry of list) {
    const [address = "", bits = "0", ...rest] = entry.split("/");
    const maxBits = isIP(address) === 6 ? 128 : 32;
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > maxBits || rest.length > 0) {
      throw new Fault("must be IP addresses or networks, separated by commas");
    }
  }
  return list;
}

/** In the form of `hostname` of a URL: lower case, IPv6 in brackets. */
export function hostNames(text: string): string[] {
  return text.split(",").map((part) => {
    const name = part.trim().toLowerCase();
    const url = `http://${name}`;
    if (!URL.canParse(url) || new URL(url).hostname !== name)
      throw new Fault("must be host names without scheme and port, separated by commas");
    return name;
  });
}
