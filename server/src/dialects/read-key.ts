import type { Dialect } from "./dialect.ts";

/** The header lines of a request, with the vendor's place for the key as `x-api-key`. */
export function withApiKey({ keyHeader, acceptsBasic }: Dialect, rawHeaders: readonly string[]): readonly string[] {
  if (keyHeader === undefined && !acceptsBasic) return rawHeaders;
  const lines = [...rawHeaders];
  for (let index = 0; index < lines.length; index += 2) {
    const name = lines[index]?.toLowerCase();
    const password = acceptsBasic && name === "authorization" ? readPassword(lines[index + 1] ?? "") : undefined;
    if (name === keyHeader || password !== undefined) lines[index] = "x-api-key";
    if (password !== undefined) lines[index + 1] = password;
  }
  return lines;
}

/** The password of `Authorization: Basic`, if it can be a key. */
function readPassword(value: string): string | undefined {
  const encoded = /^basic +([\w+/=-]+) *$/i.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  return /^[^:]*:([!-~]+)$/.exec(Buffer.from(encoded, "base64").toString("latin1"))?.[1];
}
