type JsonObject = Record<string, unknown>;

/** Undefined if the text is not a JSON object, such as an HTML error page of a proxy, or has too many values. */
export function parseJsonObject(text: string): JsonObject | undefined {
  if (text.length > minLengthToCount && hasTooManyValues(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isJsonObject(value) ? value : undefined;
}

// Far more values than an answer has. Parsing a megabyte of small values takes 100 ms, a megabyte of text a few.
const maxValues = 15_000;
const minLengthToCount = 50_000;

/** Counts what precedes a value. Such characters in text also count, but prose stays far below the limit. */
function hasTooManyValues(text: string): boolean {
  let count = 0;
  for (let index = 0; index < text.length && count <= maxValues; index += 1) {
    const code = text.charCodeAt(index);
    if (code === comma || code === bracket || code === brace) count += 1;
  }
  return count > maxValues;
}

const comma = ",".charCodeAt(0);
const bracket = "[".charCodeAt(0);
const brace = "{".charCodeAt(0);

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
