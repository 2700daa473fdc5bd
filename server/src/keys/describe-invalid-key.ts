import { keyLength, labelledKeyLength, readKeyMode } from "./key-format.ts";

/** Describes the fault of a key that does not exist, without repeating any of it. The format is public. */
export function describeInvalidKey(key: string): string {
  if (/^[$%<{[]|\.\.\.|…|your|api_?key/i.test(key)) return "The API key is a placeholder, not the value of a key";
  if (/^["'`]|["'`]$/.test(key)) return "The API key is in quotes";
  if (/^bearer\b/i.test(key)) return "The `x-api-key` header must contain the key alone, without `Bearer`";
  if (!/^pb_(?:live|test|mgmt)_/.test(key)) return "This is not an API key of this service";
  const length = /^pb_[a-z]+_[0-9a-z]{10}_/.test(key) ? labelledKeyLength : keyLength;
  if (key.length !== length) return `The API key has ${key.length} characters instead of ${length}`;
  if (readKeyMode(key) === undefined)
    return "The checksum of the API key does not match, so at least one character is wrong";
  return "This server has no such API key";
}
