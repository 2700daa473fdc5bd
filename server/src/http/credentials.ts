import { Problem } from "../problems/problems.ts";

/**
 * The API key of a request: `Authorization: Bearer K`, `x-api-key: K`, or both with the same key. Two different keys are
 * rejected, because it would be unclear which wallet to charge. Reads the raw header lines, because Node keeps only the
 * first of two Authorization lines and joins two x-api-key lines.
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
  // Runs for every header line of every request: compare the length before allocating a lower-case copy.
  if (name.length === 9 && name.toLowerCase() === "x-api-key") return value.trim() || undefined;
  if (name.length !== 13 || name.toLowerCase() !== "authorization") return undefined;
  return /^bearer +(\S+) *$/i.exec(value)?.[1];
}
