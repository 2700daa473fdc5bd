import { domainToASCII } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { formatUsd, toMicros } from "@pennyblack/sdk";

/** A field whose value in the file differs from that on the server. */
export interface Difference {
  name: string;
  before: unknown;
  after: unknown;
}

/** The fields of `desired` that differ. Forms of the same value, such as `5` and `5.00`, do not. */
export function findDifferences(desired: object, current: object): Difference[] {
  const own = current as Record<string, unknown>;
  return Object.entries(desired).flatMap(([name, value]) => {
    const [before, after] = [canonical(name, own[name]), canonical(name, value)];
    return isDeepStrictEqual(before, after) ? [] : [{ name, before, after }];
  });
}

const amounts = new Set("amount threshold monthly_cap daily_cap low_balance total day month max".split(" "));

/** The form that the server returns. The order of a list has no meaning, and null, false and absent are the same in an object. */
function canonical(name: string, value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) {
    const entries = value.map((entry) => canonical(name, entry));
    const byText = new Map(entries.map((entry) => [JSON.stringify(entry), entry]));
    return [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  }
  if (typeof value === "object") return canonicalObject(value);
  return typeof value === "string" ? canonicalText(name, value) : value;
}

function canonicalObject(value: object): object | null {
  const entries = Object.entries(value).map(([name, entry]) => [name, canonical(name, entry)] as const);
  const present = entries.filter(([, entry]) => entry !== null && entry !== false);
  return present.length === 0 ? null : Object.fromEntries(present.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function canonicalText(name: string, text: string): string {
  if (amounts.has(name) && /^\d+(?:\.\d{1,6})?$/.test(text)) return formatUsd(toMicros(text));
  if (name === "expires_at") return Number.isNaN(Date.parse(text)) ? text : new Date(text).toISOString();
  if (name === "block" || name === "only") return domainToASCII(text).replace(/\.$/, "");
  if (name === "allowed_ips") return canonicalNetwork(text);
  return text;
}

/** An address is a network with one address. */
function canonicalNetwork(text: string): string {
  const [address = "", length] = text.split("/");
  if (!address.includes(":")) return length === "32" || length === undefined ? address : text;
  const url = URL.parse(`http://[${address}]`);
  const host = url ? url.hostname.slice(1, -1) : address.toLowerCase();
  return length === "128" || length === undefined ? host : `${host}/${length}`;
}
