import type { Reply, TestServer } from "../../support/services/server.ts";

export interface MistakeContext {
  server: TestServer;
  live: string;
  testKey: string;
  management: string;
  /** A management key that has only `wallet:read`. */
  reader: string;
  /** The live key of an empty wallet. */
  poor: string;
}

type Send = (context: MistakeContext) => Promise<Reply>;
type Headers = Record<string, string>;

export type Faults = [pointer: string, code: string, detail: string][];

/** A request and its response. The detail of an invalid_request is followed by `correctIt`. */
export type Mistake = [name: string, send: Send, outcome: string, detail: string, faults?: Faults];

/** Ends the detail of every invalid_request. */
export const correctIt = " Correct the request and send it again.";
export const notCharged = " You were not charged.";

export const json = { "content-type": "application/json" };

export const unknownId = "01999999-9999-7999-8999-999999999999";

/** A search with a test key. */
export function search(body: unknown, headers: Headers = {}): Send {
  return ({ server, testKey }) => server.search(testKey, body, headers);
}

/** A request with a management key. */
export function manage(method: string, path: string, body?: unknown): Send {
  return ({ server, management }) => server.manage(management, method, path, body);
}

/** A search with only these headers. */
export function post(headers: Headers, path = "/v1/search"): Send {
  return ({ server }) => server.request(path, { method: "POST", headers, body: '{"query":"cats"}' });
}

/** A search with this Authorization header, made from a test key. */
export function authorize(toHeader: (key: string) => string): Send {
  return (context) => post({ ...json, authorization: toHeader(context.testKey) })(context);
}

/** A request without a key. */
export function request(method: string, path: string): Send {
  return ({ server }) => server.request(path, { method });
}
