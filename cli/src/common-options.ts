import { type Command, InvalidArgumentError } from "commander";

/** Adds the options shared by all commands that call the API. */
export function addOptions(command: Command): Command {
  return command
    .option("--profile <name>", "saved profile to use")
    .option("--key-file <file>", "file containing the API key, readable only by you")
    .option("--url <url>", "base URL of the Pennyblack server")
    .option("--json", "print results and errors as JSON");
}

/** Adds the maximum number of rows that a list prints. */
export function addLimit(command: Command): Command {
  return command.option("--limit <count>", "maximum number of rows", parseCount, 30);
}

export function parseInteger(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("Expected a whole number.");
  return Number(text);
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("Expected a whole number from 1 to 999999.");
  return Number(text);
}

export function parseUsd(text: string): string {
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError("Expected an amount in USD, such as 0.50.");
  return text;
}

/** Also accepts "none", which `toNullable` turns into null. */
export function orNone(parse: (text: string) => string): (text: string) => string {
  return (text) => (text === "none" ? text : parse(text));
}

// Not in the parser of an option, because commander replaces null with an empty string.
export function toNullable(text: string): string | null {
  return text === "none" ? null : text;
}

/** A time with its zone. A date is midnight UTC. */
export function parseTime(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/i.test(time);
  if (isTime && !Number.isNaN(Date.parse(time)) && isDay(time.slice(0, 10))) return time;
  throw new InvalidArgumentError("Expected a date such as 2027-01-31, or a time with its zone: 2027-01-31T18:00:00Z.");
}

/** Date.parse accepts the 31st of every month. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}
