import {
  describeChoices,
  describeText,
  describeUnknown,
  type Fault,
  invalidInput,
  maxFaults,
  parameterFault,
} from "./faults.ts";

/** Parses the value of one parameter, which is undefined if the parameter is absent, or throws InvalidValue. */
type Parse<Value> = (text: string | undefined) => Value;

type Values<Parsers extends Record<string, Parse<unknown>>> = { [Name in keyof Parsers]: ReturnType<Parsers[Name]> };

/** The message completes "The query parameter `limit` ...". */
export class InvalidValue extends Error {}

/**
 * The query parameters of a request. Unknown and repeated ones are rejected, so that a typo cannot widen a list. Every
 * invalid parameter is reported.
 */
export function readQuery<Parsers extends Record<string, Parse<unknown>>>(
  query: unknown,
  parsers: Parsers,
): Values<Parsers> {
  const given = query as Record<string, unknown>;
  const names = Object.keys(parsers);
  const faults: Fault[] = [];
  for (const [name, value] of Object.entries(given).slice(0, maxFaults)) {
    const fault = findNameFault(name, value, names);
    if (fault !== undefined) faults.push(parameterFault(name, fault));
  }
  const values = names.map((name) => [name, parseValue(name, given[name], parsers[name], faults)]);
  if (faults.length > 0) throw invalidInput(faults);
  return Object.fromEntries(values) as Values<Parsers>;
}

function findNameFault(name: string, value: unknown, names: readonly string[]): string | undefined {
  if (!names.includes(name)) return describeUnknown(name, names, "parameter");
  if (Array.isArray(value)) return `must be sent once, but was sent ${value.length} times`;
  // PostgreSQL text cannot contain NUL.
  return typeof value === "string" && value.includes("\0") ? "must not contain a NUL character" : undefined;
}

function parseValue(name: string, value: unknown, parse: Parse<unknown> | undefined, faults: Fault[]): unknown {
  if (value !== undefined && (typeof value !== "string" || value.includes("\0"))) return undefined;
  try {
    return parse?.(value);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    faults.push(parameterFault(name, error.message));
    return undefined;
  }
}

export const anyText: Parse<string | undefined> = (text) => text;

/** One of the choices, or undefined if the parameter is absent. */
export function oneOf<const Choice extends string>(choices: readonly Choice[]): Parse<Choice | undefined> {
  return (text) => {
    if (text === undefined) return undefined;
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new InvalidValue(describeChoices(choices, text));
    return choice;
  };
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** A UUID. `rule` describes the expected value, such as "a `Request-Id`". */
export function uuidOf(rule: string): Parse<string | undefined> {
  return (text) => {
    if (text !== undefined && !isUuid(text)) {
      throw new InvalidValue(`must be ${rule}, a UUID with 36 characters, but ${describeText(text)}`);
    }
    return text;
  };
}

/** A time with its zone, or a day, which starts at midnight UTC. */
export const dayOrTime: Parse<Date | undefined> = (text) => {
  if (text === undefined) return undefined;
  const parsed = new Date(text);
  const day = String.raw`(?:19[7-9]\d|2\d{3})-\d{2}-\d{2}`;
  const time = String.raw`T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})`;
  if (!new RegExp(`^${day}(?:${time})?$`).test(text) || !(parsed.getTime() >= 0)) {
    const rule = "must be a day such as `2030-01-31` or a time such as `2030-01-31T12:00:00Z`";
    throw new InvalidValue(`${rule}, but ${describeTime(text)}`);
  }
  return parsed;
};

/** Describes received text where a time is expected. */
export function describeTime(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}[\d:.]*$/i.test(text))
    return `is \`${text}\` without a zone; append \`Z\` for UTC`;
  return /^[\d :.,/TZ+-]{1,32}$/i.test(text) ? `is \`${text}\`` : describeText(text);
}

/** The page size, from the parameter `limit`. */
export function pageSize(options: { default: number; max: number }): Parse<number> {
  return (text) => {
    if (text === undefined) return options.default;
    const size = Number(text);
    if (!/^\d{1,6}$/.test(text) || size < 1 || size > options.max) {
      throw new InvalidValue(`must be an integer from 1 to ${options.max}, but ${describeText(text)}`);
    }
    return size;
  };
}

/** Opaque, so that callers do not build their own. It encodes where the last page ended, not whose list it was. */
export function toCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

/** The id after which the next page starts, from the parameter `cursor`. */
export const cursorId: Parse<string | undefined> = (cursor) => {
  if (cursor === undefined) return undefined;
  const id = decodeCursorId(cursor);
  if (id === undefined) throw new InvalidValue("must be the `next_cursor` of an earlier page of this list");
  return id;
};

/** The parameters of most lists. */
export const pageQuery = { cursor: cursorId, limit: pageSize({ default: 50, max: 100 }) };

export function decodeCursorId(cursor: string): string | undefined {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return uuid.test(id) ? id : undefined;
}
