import type { CommonOptions, Context } from "./context.ts";
import { createPrivateFile } from "./private-file.ts";

export interface OutputOptions extends CommonOptions {
  out?: string;
}

interface Secret {
  /** Such as "key" or "the signing secret of webhook". */
  name: string;
  id: string;
  value: string;
  /** For --json, with and without the secret. */
  response: object;
  metadata: object;
}

/** Writes only the secret to stdout, so that it can be piped, or to a new file. */
export function outputSecret(secret: Secret, { json, out }: OutputOptions, { print, printInfo }: Context): void {
  const { name, id, value, response, metadata } = secret;
  if (out !== undefined) {
    try {
      createPrivateFile(out, `${value}\n`);
    } catch (error) {
      // The secret was already created and would otherwise be lost.
      printInfo(`Could not write ${out} (${(error as NodeJS.ErrnoException).code}). Printing it instead.`);
      return print(json ? JSON.stringify(response) : value);
    }
    return json ? print(JSON.stringify({ ...metadata, file: out })) : printInfo(`Saved ${name} ${id} to ${out}.`);
  }
  if (!json) printInfo(`Created ${name} ${id}. Save it now, because it will not be shown again.`);
  print(json ? JSON.stringify(response) : value);
}
