import type { Pennyblack } from "@pennyblack/sdk";
import type { CredentialOptions, Credentials } from "./credentials.ts";
import type { KeyKind } from "./profiles.ts";
import type { Terminal } from "./terminal.ts";

export interface CommonOptions extends CredentialOptions {
  json?: boolean;
}

/** Dependencies passed to every command. */
export interface Context {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  terminal: Terminal;
  profilesPath: string;
  /** The folder with the rankings of recent searches. */
  rankingsFolder: string;
  resolve: (kind: KeyKind, options: CredentialOptions) => Credentials;
  /** A client that reports its retries on a terminal, except for `--json`. */
  connect: (kind: KeyKind, options: CommonOptions) => Pennyblack;
  /** Writes a result to stdout. */
  print: (text: string) => void;
  /** Writes a message for the user to stderr, so that it does not mix with piped results. */
  printInfo: (text: string) => void;
}
