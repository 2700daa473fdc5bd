import { isJsonObject, parseJsonObject } from "./parse-json-object.ts";

/**
 * Reads the codes and messages of an error body: at the top level, inside `error` or `detail`, or in the first item of a
 * list of errors. Only fields written by the vendor are read. A body can also repeat the query, and a caller must not be
 * able to fake an error such as an empty account.
 */
export function readErrorTexts(body: string): string[] {
  const error = parseJsonObject(body);
  if (error === undefined) return [];
  const inner = [error.error, error.detail, error.errors].map((part): unknown =>
    Array.isArray(part) ? part[0] : part,
  );
  return [error, ...inner]
    .flatMap((part) => (isJsonObject(part) ? names.map((name) => part[name]) : []))
    .filter(isText);
}

const names = ["code", "error_code", "tag", "type", "error", "detail", "message", "reason"];

function isText(value: unknown): value is string {
  return typeof value === "string";
}
