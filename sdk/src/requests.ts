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

/** What the methods of the client share. */
export interface Requests {
  get: <Body>(path: string, query: Query, options?: CallOptions) => Promise<Body>;
  getText: (path: string, type: "text/csv" | "text/plain", options?: CallOptions) => Promise<string>;
  /** `name` is the member of the response that contains the items. */
  list: <Item>(path: string, name: string, query: Query, options: CallOptions) => Pages<Item>;
  /** Retried even if no response arrives, because a repetition changes nothing. */
  repeat: <Body>(call: Omit<Call, "isIdempotent">) => Promise<Body>;
  /** Not retried if no response arrives. */
  once: <Body>(call: Omit<Call, "isIdempotent">) => Promise<Body>;
}

export function createRequests(connection: Connection): Requests {
  const change = async <Body>(call: Call): Promise<Body> => (await send(connection, call)).body as Body;
  const requests: Requests = {
    get: (path, query, options) => requests.repeat({ method: "GET", path: path + toQueryString(query), ...options }),
    getText: (path, textType, options) => requests.repeat({ method: "GET", path, textType, ...options }),
    list: <Item>(path: string, name: string, query: Query, options: CallOptions) =>
      new Pages(async (cursor): Promise<Page<Item>> => {
        const body = await requests.repeat<Record<string, unknown>>({
          method: "GET",
          path: path + toQueryString({ ...query, cursor }),
          listName: name,
          ...options,
        });
        return { items: body[name] as Item[], nextCursor: (body["next_cursor"] ?? null) as string | null };
      }),
    repeat: (call) => change({ ...call, isIdempotent: true }),
    once: (call) => change({ ...call, isIdempotent: false }),
  };
  return requests;
}

export function toQueryString(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? "" : `?${params.toString()}`;
}

export function toIsoString(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

export function checkIdempotencyKey(key: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new TypeError("idempotencyKey must be 1-255 printable ASCII chars.");
  return key;
}
