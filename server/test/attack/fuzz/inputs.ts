import fc, { type Arbitrary } from "fast-check";
import type { FuzzOperation } from "./fuzz-operation.ts";
import {
  headerNames,
  keyWords,
  oddContentTypes,
  oddCookies,
  oddCredentials,
  oddFirstLines,
  oddHeaderLines,
  oddHeaderValues,
  oddIds,
  oddMarks,
  oddMethods,
  oddPaths,
  oddQueries,
  oddWallets,
  sessionWords,
} from "./odd-values.ts";
import { hostileJson, hostileTexts, type Schema, valuesOf } from "./schema-values.ts";

/**
 * One request, before the world has put in what only it knows: words such as {{live}} or {{keyId}} stand for a key or an
 * id of the tenant.
 */
export interface Input {
  operation: FuzzOperation;
  tenant: number;
  /** Which of the values it is that its words stand for. */
  pick: number;
  method: string;
  /** Path and query, as they stand in the first line. */
  target: string;
  headers: Header[];
  body: string | Uint8Array | undefined;
  /** The sizes of its chunks, if it is sent in chunks. */
  chunks: number[] | undefined;
  /** How its bytes are spoilt; then it has a connection of its own. */
  spoil: Spoil | undefined;
}

type Header = [name: string, value: string];

/** A change to the bytes of a whole request. `at` is a share of their length. */
export type Spoil =
  | { kind: "cut" | "double"; at: number }
  | { kind: "insert"; at: number; bytes: Uint8Array }
  | { kind: "flip"; at: number; mask: number }
  | { kind: "line"; line: string }
  | { kind: "first line"; line: string }
  | { kind: "bare line feeds" }
  | { kind: "pipelined"; times: number };

/** A mixture of every operation; what they have in common is drawn alike. */
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
      credential: credentialOf(operation.opener),
      headers: fc.array(headerLines, { maxLength: 3 }),
      idempotency: idempotencyKeys[operation.idempotency],
      contentType: mostly(9, fc.constant("application/json"), oddContentTypes),
      body: bodyOf(operation.body),
      chunks: mostly(9, fc.constant(undefined), fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 4 })),
      spoil: mostly(11, fc.constant(undefined), spoils),
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

function mostly<Value, Odd>(weight: number, usual: Arbitrary<Value>, odd: Arbitrary<Odd>): Arbitrary<Value | Odd> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

const texts = fc.constantFrom(...hostileTexts);

/** What stands in the path of each room. */
const idWords: Record<string, string> = {
  "/v1/keys": "{{keyId}}",
  "/v1/webhooks/deliveries": "{{deliveryId}}",
  "/v1/webhooks": "{{hookId}}",
  "/v1/wallet/top-ups": "{{topUpId}}",
  "/v1/searches": "{{requestId}}",
  "/v1/members": "{{memberId}}",
  "/v1/invitations": "{{invitationId}}",
  "/operator/wallets": "{{victimId}}",
  "/operator/keys": "{{keyId}}",
  "/operator/searches": "{{requestId}}",
};

const ofConsole = "/console/api/wallets/{walletId}";

function pathOf({ path }: FuzzOperation): Arbitrary<string> {
  if (path.startsWith(ofConsole)) {
    const wallet = mostly(12, fc.constant("{{walletId}}"), oddWallets);
    return fc
      .tuple(wallet, pathBelow(path.replace(ofConsole, "/v1")))
      .map(([id, below]) => below.replace("/v1", () => `/console/api/wallets/${id}`));
  }
  return pathBelow(path);
}

function pathBelow(path: string): Arbitrary<string> {
  if (!path.includes("{")) return fc.constant(path);
  const word = idWords[path.slice(0, path.indexOf("/{"))];
  const usual = word === undefined ? fc.constantFrom("default", "gov", "rate_limited") : fc.constant(word);
  return mostly(6, usual, oddIds).map((id) => path.replace(/\{\w+\}/, () => id));
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
    .map((pairs) => (pairs.length === 0 ? "" : `?${pairs.map((each) => each.map(encodeKept).join("=")).join("&")}`));
}

/** The words that the world replaces stay as they are. */
function encodeKept(value: string): string {
  return value.startsWith("{{") ? value : encodeURIComponent(value.toWellFormed());
}

const openers = {
  search: fc.constantFrom("{{live}}", "{{test}}"),
  mgmt: fc.constant("{{mgmt}}"),
  operator: fc.constant("{{operator}}"),
  session: fc.constant("{{owner}}"),
  leaver: fc.constant("{{leaver}}"),
  none: fc.constantFrom("{{live}}", "{{unknown}}"),
};

function credentialOf(opener: FuzzOperation["opener"]): Arbitrary<Header[]> {
  if (opener === "session") return cookieOf(mostly(7, openers.session, sessionWords));
  // No other session goes along to where it would end.
  if (opener === "leaver") return cookieOf(openers.leaver);
  const key = mostly(7, openers[opener ?? "none"], keyWords);
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

/** What a page of the console sends, or a page that is none of ours. */
function cookieOf(token: Arbitrary<string>): Arbitrary<Header[]> {
  const marks = mostly<Header[], Header[]>(9, fc.constant([["x-pennyblack-csrf", "1"]]), oddMarks);
  const cookie = token.map((each): Header[] => [["cookie", `pennyblack=${each}`]]);
  return fc.tuple(mostly(9, cookie, oddCookies), marks).map(([first, second]) => [...first, ...second]);
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
  if (!schema) return mostly(9, fc.constant(undefined), farBodies);
  const valid = valuesOf(schema).map((value) => JSON.stringify(value));
  const near = fc
    .tuple(valuesOf(schema), fc.nat(), fc.nat(), fc.constantFrom(...hostileJson))
    .map(([value, pick, way, hostile]) => spoilBody(value as object, pick, way, hostile));
  return fc.oneof({ weight: 5, arbitrary: valid }, { weight: 4, arbitrary: near }, { weight: 2, arbitrary: farBodies });
}

/** A body with one member at fault: replaced, left out, doubled, unknown, or spelt otherwise. */
function spoilBody(value: object, pick: number, way: number, hostile: string): string {
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

const farBodies: Arbitrary<string | Uint8Array> = fc.oneof(
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
const spoils: Arbitrary<Spoil> = fc.oneof(
  fc.record({ kind: fc.constantFrom("cut", "double"), at: share }),
  fc.record({
    kind: fc.constant("insert"),
    at: share,
    bytes: fc.oneof(breaks, fc.uint8Array({ minLength: 1, maxLength: 12 })),
  }),
  fc.record({ kind: fc.constant("flip"), at: share, mask: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ kind: fc.constant("line"), line: oddHeaderLines }),
  fc.record({ kind: fc.constant("first line"), line: oddFirstLines }),
  fc.constant<Spoil>({ kind: "bare line feeds" }),
  fc.record({ kind: fc.constant("pipelined"), times: fc.integer({ min: 2, max: 5 }) }),
);
