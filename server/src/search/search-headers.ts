import { invalidHeader } from "../http/idempotency-key.ts";
import { type Micros, parseUsd } from "../lib/money.ts";

export interface Run {
  name: string;
  maxMicros: Micros;
  ttlSeconds: number;
}

const defaultTtlSeconds = 3_600;
const mostTtlSeconds = 30 * 24 * 3_600;

/** `Search-Run: <id>; max=0.50; ttl=3600`. The max is asked for every time, so that no run is open-ended by mistake. */
export function readRun(header: string | undefined): Run | undefined {
  if (header === undefined) return undefined;
  const [name = "", ...parameters] = header.split(";").map((part) => part.trim());
  const given = new Map(parameters.map(readParameter));
  const maxMicros = parseUsd(given.get("max") ?? "");
  const ttlSeconds = Number(given.get("ttl") ?? defaultTtlSeconds);
  const isClear = given.size === parameters.length && !given.has("unknown");
  if (!/^[\w.:@/-]{1,128}$/.test(name) || maxMicros === undefined || !isClear) {
    throw invalidHeader("Search-Run", "must look like `my-run; max=0.50; ttl=3600`");
  }
  if (!Number.isInteger(ttlSeconds) || ttlSeconds < 1 || ttlSeconds > mostTtlSeconds) {
    throw invalidHeader("Search-Run", `its ttl must be 1 to ${mostTtlSeconds} seconds`);
  }
  return { name, maxMicros, ttlSeconds };
}

const mostWaitSeconds = 10;

/**
 * The seconds of `Prefer: wait=2` (RFC 7240): how long the caller cares for an answer, counted from its request. More
 * than our own deadline or anything we do not understand is no fault, and as if it had not been said.
 */
export function readWait(header: string | undefined): number | undefined {
  const wait = header
    ?.split(",")
    .map((preference) => /^\s*wait\s*=\s*"?(\d{1,4})"?\s*(?:;.*)?$/i.exec(preference)?.[1])
    .find((seconds) => seconds !== undefined);
  const seconds = Number(wait);
  return wait !== undefined && seconds >= 1 && seconds < mostWaitSeconds ? seconds : undefined;
}

/** How much time is left for the upstreams. */
export function timeLeftMs(waitSeconds: number | undefined, elapsedMs: number): number {
  return waitSeconds === undefined ? mostWaitSeconds * 1_000 : Math.max(0, waitSeconds * 1_000 - elapsedMs);
}

function readParameter(text: string): ["max" | "ttl" | "unknown", string] {
  const [, name, value = ""] = /^(max|ttl)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  return name === "max" || name === "ttl" ? [name, value] : ["unknown", text];
}
