import type { Pennyblack } from "@pennyblack/sdk";
import type { AccessOptions } from "./find-access.ts";
import type { KeyKind } from "./profiles.ts";
import type { Terminal } from "./terminal.ts";

export interface CommonOptions extends AccessOptions {
  json?: boolean;
}

/** What every command works with. */
export interface Bench {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  terminal: Terminal;
  profilesPath: string;
  connect: (kind: KeyKind, options: AccessOptions) => Pennyblack;
  /** For whoever reads on, be it a person or a program. */
  print: (text: string) => void;
  /** For the person only. */
  remark: (text: string) => void;
}
