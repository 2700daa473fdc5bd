import { type Command, InvalidArgumentError } from "commander";

/** Adds the options shared by all commands that call the API. */
export function addOptions(command: Command): Command {
  return command
    .option("--profile <name>", "saved profile to use")
    .option("--key-file <file>", "file containing the API key, readable only by you")
    .option("--url <url>", "base URL of the Pennyblack server")
    .option("--json", "print results and errors as JSON");
}

export function parseInteger(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("Expected a whole number.");
  return Number(text);
}

export function parseUsd(text: string): string {
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError("Expected an amount in USD, such as 0.50.");
  return text;
}
