import { Problem } from "../problems/problems.ts";

/** The query parameters of a request. Unknown and repeated ones are rejected, so that a typo cannot widen a list. */
export function readParameters<Name extends string>(
  query: unknown,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const parameters = query as Record<string, unknown>;
  for (const [name, value] of Object.entries(parameters)) {
    if (!(names as readonly string[]).includes(name)) throw invalidParameter(name, "is not a known parameter");
    if (typeof value !== "string") throw invalidParameter(name, "must be given once");
    // PostgreSQL text cannot contain NUL.
    if (value.includes("\0")) throw invalidParameter(name, "must not contain a NUL character");
  }
  return parameters as Partial<Record<Name, string>>;
}

export function invalidParameter(name: string, rule: string): Problem {
  return new Problem("invalid_request", {
    detail: `The parameter ${name.slice(0, 100)} ${rule}. You were not charged.`,
    members: { errors: [{ pointer: `#/${name.slice(0, 100)}`, code: "invalid_parameter", detail: rule }] },
  });
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** A time with its zone, or a day, which starts at midnight UTC. */
export function readMoment(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const moment = new Date(text);
  const day = String.raw`(?:19[7-9]\d|2\d{3})-\d{2}-\d{2}`;
  const time = String.raw`T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})`;
  if (!new RegExp(`^${day}(?:${time})?$`).test(text) || !(moment.getTime() >= 0)) {
    throw invalidParameter(name, "must be a day such as 2030-01-31 or a time such as 2030-01-31T12:00:00Z");
  }
  return moment;
}

/** The page size from the parameter `limit`. */
export function readLimit(text: string | undefined, options: { default: number; max: number }): number {
  const limit = Number(text ?? options.default);
  if (!/^\d{1,6}$/.test(String(text ?? options.default)) || limit < 1 || limit > options.max) {
    throw invalidParameter("limit", `must be 1 to ${options.max}`);
  }
  return limit;
}

/** Opaque, so that callers do not build their own. It encodes where the last page ended, not whose list it was. */
export function toCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

/** The id after which the next page starts, from the parameter `cursor`. */
export function readCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (!uuid.test(id)) throw invalidParameter("cursor", "must be a `next_cursor` from an earlier page");
  return id;
}
