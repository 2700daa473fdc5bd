import { Problem } from "../problems.ts";

/**
 * The API key of a request: `Authorization: Bearer K` or `x-api-key: K`, each alone or both alike. Reads the raw
 * header lines, because Node keeps the first of two Authorization lines and joins two x-api-key lines.
 * Two different keys are refused: we never guess whose money to spend.
 */
export function readCredential(rawHeaders: readonly string[]): string | undefined {
  let credential: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const key = keyInLine(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
    if (key === undefined) continue;
    if (credential !== undefined && credential !== key) {
      throw new Problem("conflicting_credentials", {
        members: { errors: [{ pointer: "#", code: "conflicting_credentials", detail: "send one key" }] },
      });
    }
    credential = key;
  }
  return credential;
}

function keyInLine(name: string, value: string): string | undefined {
  // Two cheap tests before the expensive one: this runs for every header line of every request.
  if (name.length === 9 && name.toLowerCase() === "x-api-key") return value.trim() || undefined;
  if (name.length !== 13 || name.toLowerCase() !== "authorization") return undefined;
  return /^bearer +(\S+) *$/i.exec(value)?.[1];
}
