import type { Key, KeySources, UpdateKeyRequest } from "@pennyblack/sdk";
import type { Command } from "commander";
import { orNone, parseInteger, parseTime, parseUsd, toNullable } from "./common-options.ts";
import { UsageError } from "./usage-error.ts";

/** "none" removes a budget, the expiry or a list of domains. */
export interface KeySettings {
  perDay?: string;
  perMonth?: string;
  total?: string;
  expires?: string;
  allowIp?: string[];
  perSecond?: number;
  inFlight?: number;
  block?: string[];
  only?: string[];
  budget?: string[];
  maxRun?: string;
  requireRun?: boolean;
}

/** Adds the settings that a key can be created with and that can be changed later. */
export function addKeySettings(command: Command): Command {
  return command
    .option("--per-day <usd>", 'daily budget, or "none"', orNone(parseUsd))
    .option("--per-month <usd>", 'monthly budget, or "none"', orNone(parseUsd))
    .option("--total <usd>", 'total budget, or "none"', orNone(parseUsd))
    .option("--budget <budget...>", 'ids or names of shared budgets, or "none"')
    .option("--max-run <usd>", 'largest budget of a run that searches can name, or "none"', orNone(parseUsd))
    .option("--require-run", "reject searches without a run; needs --max-run")
    .option("--no-require-run", "accept searches without a run; needs --max-run")
    .option("--expires <time>", 'date (UTC) or time when the key expires, or "none"', orNone(parseTime))
    .option("--allow-ip <address...>", 'IP addresses or networks that may use the key, or "any"')
    .option("--per-second <count>", "maximum number of searches per second", parseInteger)
    .option("--in-flight <count>", "maximum number of searches in flight", parseInteger)
    .option("--block <domain...>", 'domains whose pages are removed from results, or "none"')
    .option("--only <domain...>", 'domains to which results are restricted, or "none"');
}

/** The current values of a key that a change of one of their parts keeps. */
type Current = Partial<Pick<Key, "sources" | "max_run">>;

/** The members of a request. Settings that were not given are omitted. `current`: those of the key, if it exists. */
export function readKeySettings(settings: KeySettings, current: Current = {}): Omit<UpdateKeyRequest, "name"> {
  const { perDay, perMonth, total, expires, allowIp, perSecond, inFlight } = settings;
  const budget = {
    ...(perDay !== undefined && { day: toNullable(perDay) }),
    ...(perMonth !== undefined && { month: toNullable(perMonth) }),
    ...(total !== undefined && { total: toNullable(total) }),
  };
  return {
    ...(Object.keys(budget).length > 0 && { budget }),
    ...(expires !== undefined && { expires_at: toNullable(expires) }),
    ...(allowIp && { allowed_ips: allowIp.includes("any") ? null : allowIp }),
    ...(perSecond !== undefined && { searches_per_second: perSecond }),
    ...(inFlight !== undefined && { searches_in_flight: inFlight }),
    ...readMaxRun(settings, current.max_run),
    ...(changesSources(settings) && { sources: readSources(settings, current.sources) }),
  };
}

/** Whether a setting replaces only a part of a value, so that the rest must be read from the key. */
export function keepsPart(settings: KeySettings): boolean {
  return changesSources(settings) || settings.maxRun !== undefined;
}

/** Both fields, because a request replaces both. */
function readMaxRun({ maxRun, requireRun }: KeySettings, current?: Key["max_run"]): Pick<UpdateKeyRequest, "max_run"> {
  if (maxRun === undefined && requireRun !== undefined)
    throw new UsageError(`--${requireRun ? "" : "no-"}require-run needs --max-run.`);
  if (maxRun === undefined) return {};
  if (maxRun === "none" && requireRun) throw new UsageError("--require-run needs an amount in --max-run.");
  return { max_run: maxRun === "none" ? null : { max: maxRun, required: requireRun ?? current?.required ?? false } };
}

function changesSources({ block, only }: KeySettings): boolean {
  return block !== undefined || only !== undefined;
}

/** Both lists, because a request replaces both. */
function readSources({ block, only }: KeySettings, current: KeySources | null = null): KeySources | null {
  const choose = (given: string[] | undefined, own: string[] | undefined): string[] =>
    given === undefined ? (own ?? []) : given.filter((domain) => domain !== "none");
  const lists = { block: choose(block, current?.block), only: choose(only, current?.only) };
  const filled = Object.entries(lists).filter(([, domains]) => domains.length > 0);
  return filled.length === 0 ? null : Object.fromEntries(filled);
}
