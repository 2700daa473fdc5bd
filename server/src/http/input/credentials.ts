import { Problem } from "../../problems/problems.ts";

/**
 * The API key of a request: `Authorization: Bearer K`, `x-api-key: K`, or both with the same key. Two different keys are
 * rejected, because it would be unclear which wallet to charge. Reads the raw header lines, because Node keeps only the
 * first of two Authorization lines and joins two x-api-key lines.
 */
export function readCredential(rawHeaders: readonly string[]): string {
  let credential: string | undefined;
  let fault: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1] ?? "";
    const name = headerName(rawHeaders[index] ?? "");
    if (name === undefined) continue;
    const key = name === "x-api-key" ? value.trim() || undefined : /^bearer +(\S+) *$/i.exec(value)?.[1];
    if (key === undefined) fault ??= describeFault(name, value);
    else if (credential !== undefined && credential !== key) {
      throw new Problem("conflicting_credentials", {
        members: { errors: [{ pointer: "#", code: "conflicting_credentials", detail: "send one key" }] },
      });
    } else credential = key;
  }
  if (credential === undefined) {
    throw new Problem("authentication_required", { values: { fault: fault ?? "The request has no API key" } });
  }
  return credential;
}

function headerName(name: string): "x-api-key" | "authorization" | undefined {
  // Runs for every header line of every request: compare the length before allocating a lower-case copy.
  if (name.length === 9 && name.toLowerCase() === "x-api-key") return "x-api-key";
  return name.length === 13 && name.toLowerCase() === "authorization" ? "authorization" : undefined;
}

/** Returns the reason a header contains no key, without its value. */
function describeFault(name: "x-api-key" | "authorization", value: string): string {
  const text = value.trim();
  if (name === "x-api-key" || text === "") return `The \`${name}\` header is empty`;
  if (/^pb_/i.test(text)) return "The `Authorization` header has an API key without the word `Bearer` before it";
  if (/^bearer$/i.test(text)) return "The `Authorization` header has no API key after `Bearer`";
  if (/^bearer[:=]/i.test(text))
    return "The `Authorization` header must have a space, and nothing else, between `Bearer` and the key";
  if (/^bearer\s/i.test(text)) return "The API key in the `Authorization` header contains a space";
  if (/^basic\s/i.test(text))
    return "The `Authorization` header uses the scheme `Basic`, but only `Bearer` is supported";
  return "The `Authorization` header does not start with `Bearer`";
}
