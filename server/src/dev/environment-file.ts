import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

// `npm run admin` reads this file, so that it works with the dev server in another terminal. The dev server that uses
// .pennyblack/dev/ writes .pennyblack/dev.env, the default, and others .pennyblack/dev-<port>.env.

export interface EnvironmentFile {
  /** Relative to the working directory, which npm sets to the repository root. */
  path: string;
  isDefault: boolean;
  remove: () => void;
}

export function writeEnvironmentFile(
  environment: Readonly<Record<string, string>>,
  { isDefault }: { isDefault: boolean },
): EnvironmentFile {
  const file = resolve(isDefault ? ".pennyblack/dev.env" : `.pennyblack/dev-${environment["PORT"]}.env`);
  const lines = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)}`);
  const text = `# Written by dev server ${process.pid}. Removed when it stops.\n${lines.join("\n")}\n`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  // One left by a killed dev server. Remove it, because writing to an existing file would keep its mode.
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600 });
  return {
    path: relative(".", file),
    isDefault,
    remove: () => rmSync(file, { force: true }),
  };
}

/** The format has no escapes, but three kinds of quotes. */
function quote(value: string): string {
  const mark = ["'", '"', "`"].find((each) => !value.includes(each)) ?? "";
  return mark + value + mark;
}
