import { userInfo } from "node:os";
import { parseEmailAddress } from "../accounts/accounts.ts";
import type { Act } from "../db/record-act.ts";
import { type Micros, parseUsd } from "../lib/money.ts";
import { UsageError, type Values } from "./command.ts";

// Parses and validates command-line options.

export function readText(values: Values, name: string): string {
  const text = readOptionalText(values, name);
  if (text === undefined) throw new UsageError(`--${name} is required.`);
  return text;
}

export function readOptionalText(values: Values, name: string): string | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  if (typeof value !== "string" || value.trim() === "") throw new UsageError(`--${name} must not be empty.`);
  return value.trim();
}

export function readTexts(values: Values, name: string): string[] {
  const value = values[name] ?? [];
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

export function readId(values: Values, name: string): string {
  const text = readText(values, name);
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) {
    throw new UsageError(`--${name} must be an id such as 0192f0c1-7c3e-7000-8000-000000000000.`);
  }
  return text.toLowerCase();
}

export function readOptionalEmail(values: Values, name: string): string | undefined {
  const text = readOptionalText(values, name);
  if (text === undefined) return undefined;
  const email = parseEmailAddress(text);
  if (email === undefined) throw new UsageError(`--${name} must be an email address such as ada@example.org.`);
  return email;
}

export function readOptionalAmount(values: Values, name: string): Micros | undefined {
  const text = readOptionalText(values, name);
  if (text === undefined) return undefined;
  const amount = parseUsd(text);
  if (amount === undefined) throw new UsageError(`--${name} must be an amount in USD such as 5.00.`);
  return amount;
}

export function readOptionalCount(values: Values, name: string): number | undefined {
  const text = readOptionalText(values, name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new UsageError(`--${name} must be a whole number from 1 to 9999999.`);
  return Number(text);
}

/** A time with a zone, or a day, which starts at midnight UTC. */
export function readOptionalTime(values: Values, name: string): Date | undefined {
  const text = readOptionalText(values, name);
  if (text === undefined) return undefined;
  const moment = new Date(text);
  const isClear = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/.test(text);
  if (!isClear || Number.isNaN(moment.getTime())) {
    throw new UsageError(`--${name} must be a time such as 2030-01-31T12:00:00Z.`);
  }
  return moment;
}

export function readOptionalFutureTime(values: Values, name: string): Date | undefined {
  const moment = readOptionalTime(values, name);
  if (moment && moment.getTime() <= Date.now()) throw new UsageError(`--${name} must be in the future.`);
  return moment;
}

/** --by, or the login name of the current user, and --reason. */
export function readAct(values: Values): Act {
  const operator = values["by"] === undefined ? userInfo().username : readText(values, "by").slice(0, 255);
  return { operator, reason: readReason(values) };
}

/** Commands that require a reason call readText first. */
function readReason(values: Values): string {
  const { reason = "none given" } = values;
  if (typeof reason !== "string" || reason.length < 1 || reason.length > 500) {
    throw new UsageError("--reason must have 1 to 500 characters.");
  }
  return reason;
}
