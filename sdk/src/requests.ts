import { check, checkNames, isText, type OptionNames } from "./check-options.ts";
import { type Page, Pages } from "./pages.ts";
import { type Call, type Connection, send } from "./send.ts";

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface ListOptions extends CallOptions {
  /** Number of items per page, not in total. */
  limit?: number;
}

export interface TimeRange {
  from?: Date | string;
  to?: Date | string;
}

export type Query = Record<string, string | number | undefined>;

/** Code that the methods of the client share. `options` must not contain others than those of a call. */
export interface Requests {
  get: <Body>(path: string, query: Query, options?: CallOptions) => Promise<Body>;
  getText: (path: string, type: NonNullable<Call["textType"]>, query: Query, options?: CallOptions) => Promise<string>;
  /** `name` is the member of the response that contains the items. */
  list: <Item, Details = unknown>(
    path: string,
    name: string,
    query: Query,
    options: CallOptions,
  ) => Pages<Item, Details>;
  /** Retried even if no response arrives, because a repetition changes nothing. */
  repeat: <Body>(call: Change, options?: CallOptions) => Promise<Body>;
  /** Not retried if no response arrives. `names` are the other options of the method. */
  once: <Body>(call: Change, options?: CallOptions, names?: readonly string[]) => Promise<Body>;
}

type Change = Omit<Call, "isIdempotent" | keyof CallOptions>;

const callOptions: OptionNames<CallOptions> = { signal: true, timeoutMs: true };

export function createRequests(connection: Connection): Requests {
  const change = async <Body>(call: Call, options?: CallOptions, names?: readonly string[]): Promise<Body> => {
    checkCallOptions(options, names);
    return (await send(connection, { ...call, ...options })).body as Body;
  };
  const read = <Body>(path: string, query: Query, call: Partial<Call>, options?: CallOptions): Promise<Body> =>
    change(
      { method: "GET", path: path + toQueryString(query), isIdempotent: true, ...call },
      options,
      Object.keys(query).map(toCamelCase),
    );
  return {
    get: (path, query, options) => read(path, query, {}, options),
    getText: (path, textType, query, options) => read(path, query, { textType }, options),
    list<Item, Details>(path: string, name: string, query: Query, options: CallOptions): Pages<Item, Details> {
      checkCallOptions(options, Object.keys(query).map(toCamelCase));
      return new Pages(async (cursor) => {
        const body = await read<Record<string, unknown>>(path, { ...query, cursor }, { listName: name }, options);
        const { [name]: items, next_cursor: nextCursor = null, ...details } = body;
        return { ...details, items, nextCursor } as Page<Item, Details>;
      });
    },
    repeat: (call, options) => change({ ...call, isIdempotent: true }, options),
    once: (call, options, names) => change({ ...call, isIdempotent: false }, options, names),
  };
}

/** `names` are the other options of the method, for a suggestion. */
export function checkCallOptions(options: CallOptions | undefined, names: readonly string[] = []): void {
  checkNames(options, [...names, ...Object.keys(callOptions)]);
  if (options?.timeoutMs !== undefined) checkTimeout(options.timeoutMs);
}

export function checkTimeout(timeoutMs: unknown): void {
  check(typeof timeoutMs === "number" && timeoutMs > 0, "timeoutMs must be a number above 0.");
}

/** Query parameters have the names of the options, in another notation. */
function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function toQueryString(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? "" : `?${params.toString()}`;
}

export function toIsoString(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

export function checkIdempotencyKey(key: string): string {
  check(isText(key, /^[\x20-\x7e]{1,255}$/), "idempotencyKey must have 1 to 255 printable ASCII characters.");
  return key;
}
