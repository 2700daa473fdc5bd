import { type Command, InvalidArgumentError } from "commander";

/** The options that every command with a server has. */
export function withAccess(command: Command): Command {
  return command
    .option("--profile <name>", "the saved server and keys to use")
    .option("--key-file <file>", "a file that holds the key and that only you can read")
    .option("--url <address>", "the address of the server")
    .option("--json", "print JSON, errors too");
}

export function readWhole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It is a whole number.");
  return Number(text);
}

export function readUsd(text: string): string {
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError("It is an amount in USD, such as 0.50.");
  return text;
}
