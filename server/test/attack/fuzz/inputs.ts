import fc, { type Arbitrary } from "fast-check";
import type { FuzzOperation } from "./fuzz-operation.ts";
import {
  headerNames,
  keyPlaceholders,
  oddContentTypes,
  oddCookies,
  oddCredentials,
  oddCsrfHeaders,
  oddFirstLines,
  oddHeaderLines,
  oddHeaderValues,
  oddIds,
  oddMethods,
  oddPaths,
  oddQueries,
  oddWallets,
  sessionPlaceholders,
} from "./odd-values.ts";
import { hostileJson, hostileTexts, type Schema, valuesOf } from "./schema-values.ts";

/** A request with placeholders such as {{live}} or {{keyId}} for a key or an id of the tenant. */
export interface Input {
  operation: FuzzOperation;
  tenant: number;
  /** Selects one of the values of its placeholders. */
  pick: number;
  method: string;
  /** Path and query of the request line. */
  target: string;
  headers: Header[];
  body: string | Uint8Array | undefined;
  /** The sizes of its chunks, if it is sent in chunks. */
  chunks: number[] | undefined;
  /** How its bytes are changed; it is then sent on a separate connection. */
  mutation: Mutation | undefined;
}

type Header = [name: string, value: string];

/** A change to the bytes of a complete request. `at` is a fraction of their length. */
export type Mutation =
  | { kind: "cut" | "double"; at: number }
  | { kind: "insert"; at: number; bytes: Uint8Array }
  | { kind: "flip"; at: number; mask: number }
  | { kind: "line"; line: string }
  | { kind: "first line"; line: string }
  | { kind: "bare line feeds" }
  | { kind: "pipelined"; times: number };

/** Inputs for all operations, by weight. */
export function inputsOf(operations: readonly FuzzOperation[], tenants: number): Arbitrary<Input> {
  return fc.oneof(
    ...operations.map((operation) => ({ weight: operation.weight, arbitrary: inputOf(operation, tenants) })),
  );
}

function inputOf(operation: FuzzOperation, tenants: number): Arbitrary<Input> {
  return fc
    .record({
      tenant: fc.nat({ max: tenants - 1 }),
      pick: fc.nat({ max: 10_000 }),
      method: mostly(9, fc.constant(operation.method), oddMethods),
      path: mostly(12, pathOf(operation), oddPaths),
      query: mostly(6, queryOf(operation.query), oddQueries),
      credential: credentialOf(operation.credential),
      headers: fc.array(headerLines, { maxLength: 3 }),
      idempotency: idempotencyKeys[operation.idempotency],
      contentType: mostly(9, fc.constant("application/json"), oddContentTypes),
      body: bodyOf(operation.body),
      chunks: mostly(9, fc.constant(undefined), fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 4 })),
      mutation: mostly(11, fc.constant(undefined), mutations),
    })
    .map(({ path, query, credential, headers, idempotency, contentType, body, chunks, ...drawn }) => {
      const type: Header[] = body === undefined || contentType === "" ? [] : [["content-type", contentType]];
      return {
        ...drawn,
        operation,
        target: path + query,
        headers: [...credential, ...type, ...headers, ...idempotency],
        body,
        chunks: body === undefined ? undefined : chunks,
      };
    });
}

function mostly<Value, Odd>(weight: number, regular: Arbitrary<Value>, odd: Arbitrary<Odd>): Arbitrary<Value | Odd> {
  return fc.oneof({ weight, arbitrary: regular }, { weight: 1, arbitrary: odd });
}

const texts = fc.constantFrom(...hostileTexts);

/** The placeholder for the id in each path. */
const idPlaceholders: Record<string, string> = {
  "/v1/keys": "{{keyId}}",
  "/v1/budgets": "{{budgetId}}",
  "/v1/webhooks/deliveries": "{{deliveryId}}",
  "/v1/webhooks": "{{hookId}}",
  "/v1/wallet/top-ups": "{{topUpId}}",
  "/v1/searches": "{{requestId}}",
  "/v1/members": "{{memberId}}",
  "/v1/invitations": "{{invitationId}}",
  "/v1/apps": "{{appId}}",
  "/console/api/invitations": "{{ownInvitationId}}",
  "/operator/cells": "eu1",
  "/operator/wallets": "{{victimId}}",
  "/operator/keys": "{{keyId}}",
  "/operator/searches": "{{requestId}}",
};

/** The path with the ids of the tenant. */
export function usualPath({ path }: FuzzOperation): string {
  const own = path.replace("{walletId}", "{{walletId}}").replace("{personId}", "{{memberId}}");
  const parent = own.slice(0, own.search(/(?<!\{)\/\{(?!\{)/));
  const placeholder = idPlaceholders[parent.replace("/console/api/wallets/{{walletId}}", "/v1")];
  return own.replace(/(?<!\{)\{\w+\}(?!\})/, () => placeholder ?? (parent === "/problems" ? "rate_limited" : "base"));
}

const consolePrefix = "/console/api/wallets/{walletId}";

function pathOf({ path }: FuzzOperation): Arbitrary<string> {
  if (path.startsWith(consolePrefix)) {
    const wallet = mostly(12, fc.constant("{{walletId}}"), oddWallets);
    return fc
      .tuple(wallet, pathBelow(path.replace(consolePrefix, "/v1")))
      .map(([id, below]) => below.replace("/v1", () => `/console/api/wallets/${id}`));
  }
  return pathBelow(path);
}

function pathBelow(path: string): Arbitrary<string> {
  if (!path.includes("{")) return fc.constant(path);
  const placeholder = idPlaceholders[path.slice(0, path.indexOf("/{"))];
  const regular =
    placeholder === undefined ? fc.constantFrom("default", "gov", "rate_limited") : fc.constant(placeholder);
  return mostly(6, regular, oddIds).map((id) => path.replace(/\{\w+\}/, () => id));
}

function queryOf(parameters: Record<string, Schema>): Arbitrary<string> {
  const names = Object.keys(parameters);
  if (names.length === 0) return fc.constant("");
  const pair = fc
    .constantFrom(...names)
    .chain((name) =>
      mostly(5, valuesOf(parameters[name] ?? {}, name), texts).map((value) => [name, String(value)] as const),
    );
  return fc
    .uniqueArray(pair, { maxLength: 3, selector: ([name]) => name })
    .map((pairs) =>
      pairs.length === 0 ? "" : `?${pairs.map((each) => each.map(encodeExceptPlaceholders).join("=")).join("&")}`,
    );
}

/** Placeholders are replaced later and must not be encoded. */
function encodeExceptPlaceholders(value: string): string {
  return value.startsWith("{{") ? value : encodeURIComponent(value.toWellFormed());
}

const credentials = {
  search: fc.constantFrom("{{live}}", "{{test}}"),
  mgmt: fc.constant("{{mgmt}}"),
  operator: fc.constant("{{operator}}"),
  session: fc.constant("{{owner}}"),
  disposable: fc.constant("{{disposable}}"),
  none: fc.constantFrom("{{live}}", "{{unknown}}"),
};

function credentialOf(kind: FuzzOperation["credential"]): Arbitrary<Header[]> {
  if (kind === "session") return cookieOf(mostly(7, credentials.session, sessionPlaceholders));
  // These routes end the session.
  if (kind === "disposable") return cookieOf(credentials.disposable);
  const key = mostly(7, credentials[kind ?? "none"], keyPlaceholders);
  const bearer = (each: string): Header => ["authorization", `Bearer ${each}`];
  const others = fc.oneof(
    key.map((each): Header[] => [["x-api-key", each]]),
    key.map((each): Header[] => [
      ["Authorization", `bearer   ${each} `],
      ["X-Api-Key", each],
    ]),
    fc.tuple(key, key).map((both): Header[] => both.map(bearer)),
    key.map((each): Header[] => [["authorization", `Basic ${each}`]]),
    oddCredentials,
  );
  return mostly(
    6,
    key.map((each) => [bearer(each)]),
    others,
  );
}

/** The headers of a console page, or of a page from another site. */
function cookieOf(token: Arbitrary<string>): Arbitrary<Header[]> {
  const csrfHeaders = mostly<Header[], Header[]>(9, fc.constant([["x-pennyblack-csrf", "1"]]), oddCsrfHeaders);
  const cookie = token.map((each): Header[] => [["cookie", `pennyblack=${each}`]]);
  return fc.tuple(mostly(9, cookie, oddCookies), csrfHeaders).map(([first, second]) => [...first, ...second]);
}

const headerLines = fc.tuple(headerNames, fc.oneof({ weight: 3, arbitrary: oddHeaderValues }, texts));

const someKey = fc.nat({ max: 3_000 }).map((number): Header[] => [["Idempotency-Key", `attempt-${number}`]]);
const noKey = fc.constant<Header[]>([]);
const idempotencyKeys: Record<FuzzOperation["idempotency"], Arbitrary<Header[]>> = {
  none: noKey,
  optional: mostly(3, noKey, someKey),
  required: mostly(5, someKey, noKey),
};

function bodyOf(schema: Schema | undefined): Arbitrary<Input["body"]> {
  if (!schema) return mostly(9, fc.constant(undefined), invalidBodies);
  const valid = valuesOf(schema).map((value) => JSON.stringify(value));
  const near = fc
    .tuple(valuesOf(schema), fc.nat(), fc.nat(), fc.constantFrom(...hostileJson))
    .map(([value, pick, way, hostile]) => mutateBody(value as object, pick, way, hostile));
  return fc.oneof(
    { weight: 5, arbitrary: valid },
    { weight: 4, arbitrary: near },
    { weight: 2, arbitrary: invalidBodies },
  );
}

/** A body with one invalid member: replaced, missing, repeated, unknown or in a different case. */
function mutateBody(value: object, pick: number, way: number, hostile: string): string {
  const members = Object.entries(value).map(([name, member]): Header => [name, JSON.stringify(member)]);
  const index = members.length === 0 ? 0 : pick % members.length;
  const [name, member] = members[index] ?? ["query", '"x"'];
  const replaced = members.map((each, at): Header => (at === index ? [name, hostile] : each));
  const ways: Header[][] = [
    replaced,
    replaced,
    members.toSpliced(index, 1),
    [...members, [name, hostile]],
    [[name, hostile], ...members],
    [...members, ["limit", hostile]],
    [...members, ["__proto__", hostile]],
    [...members, [hostile.slice(0, 200), member]],
    [...members, [name.toUpperCase(), member]],
  ];
  const chosen = ways[way % ways.length] ?? [];
  return `{${chosen.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(way % 7 === 0 ? " ,\n" : ",")}}`;
}

const invalidBodies: Arbitrary<string | Uint8Array> = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(...hostileJson),
  fc.uint8Array({ maxLength: 200 }),
  fc.constantFrom("\ufeff{}", '{"query":"cats"}{"query":"dogs"}', '{"query":"cats"}\u0000', "query=cats", "{", '"', ""),
  fc.constantFrom(" ".repeat(16_384), "a".repeat(40_000), `{"query":"${"é".repeat(8_200)}"}`),
  fc.constantFrom("fffe7b007d00", "7b22c328227d", "1f8b080000000000").map((hex) => Buffer.from(hex, "hex")),
  fc.constant(new Uint8Array(16_385)),
);

const share = fc.nat({ max: 9_999 }).map((part) => part / 10_000);
const breaks = fc
  .constantFrom("\r", "\n", "\r\n", "\r\n\r\n", "\0", "\u00ff", " ", ":", "\r\n ", "\r\n\t")
  .map((text) => Buffer.from(text, "latin1"));
const mutations: Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constantFrom("cut", "double"), at: share }),
  fc.record({
    kind: fc.constant("insert"),
    at: share,
    bytes: fc.oneof(breaks, fc.uint8Array({ minLength: 1, maxLength: 12 })),
  }),
  fc.record({ kind: fc.constant("flip"), at: share, mask: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ kind: fc.constant("line"), line: oddHeaderLines }),
  fc.record({ kind: fc.constant("first line"), line: oddFirstLines }),
  fc.constant<Mutation>({ kind: "bare line feeds" }),
  fc.record({ kind: fc.constant("pipelined"), times: fc.integer({ min: 2, max: 5 }) }),
);
