import { invalidHeader } from "../http/idempotency-key.ts";
import { type Micros, parseUsd } from "../lib/money.ts";

export interface Run {
  name: string;
  maxMicros: Micros;
  ttlSeconds: number;
}

const defaultTtlSeconds = 3_600;
const maxTtlSeconds = 30 * 24 * 3_600;

/** `Search-Run: <id>; max=0.50; ttl=3600`. `max` is required on every request, so that no run is unlimited by mistake. */
export function readRun(header: string | undefined): Run | undefined {
  if (header === undefined) return undefined;
  const [name = "", ...parameters] = header.split(";").map((part) => part.trim());
  const values = new Map(parameters.map(readParameter));
  const maxMicros = parseUsd(values.get("max") ?? "");
  const ttlSeconds = Number(values.get("ttl") ?? defaultTtlSeconds);
  const isValid = values.size === parameters.length && !values.has("unknown");
  if (!/^[\w.:@/-]{1,128}$/.test(name) || maxMicros === undefined || !isValid) {
    throw invalidHeader("Search-Run", "must look like `my-run; max=0.50; ttl=3600`");
  }
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > maxTtlSeconds) {
    throw invalidHeader("Search-Run", `ttl must be 1 to ${maxTtlSeconds} seconds`);
  }
  return { name, maxMicros, ttlSeconds };
}

const maxWaitSeconds = 10;

/**
 * The seconds in `Prefer: wait=2` (RFC 7240): how long the caller is willing to wait, counted from its request. Values
 * beyond our own deadline and anything unrecognized are ignored.
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

function readParameter(text: string): ["max" | "ttl" | "unknown", string] {
  const [, name, value = ""] = /^(max|ttl)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  return name === "max" || name === "ttl" ? [name, value] : ["unknown", text];
}
