import { isJsonObject, parseJsonObject } from "./parse-json-object.ts";

/**
 * The codes and messages of an error body, wherever the vendor puts them: at the top, inside `error` or `detail`, or in
 * the first item of a list of errors. Only fields that are the vendor's own words are read. A body may also repeat the
 * query, and no caller shall be able to make us believe that our account is empty.
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
