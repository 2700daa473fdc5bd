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
