import { createOperation, type FuzzOperation } from "../fuzz-operation.ts";
import { usualPath } from "../inputs.ts";
import { anyTexts, type BuildText, plainTexts, urlTexts } from "./adversarial-texts.ts";
import type { CostCase } from "./find-costly-cases.ts";
import { mcp } from "./mcp-cases.ts";
import { type Change, type CostInput, inHeader, inUrl, manyNames, maxPart, requestCase } from "./request-case.ts";

// Paths, headers and query parameters.

export function* pathCases(operations: readonly FuzzOperation[]): Generator<CostCase<CostInput>> {
  const prefixes = ["/", "/v1/", "/docs/", "/console/", "/console/assets/", "/compat/"];
  const parents = operations.filter(({ path }) => path.includes("{")).map(({ path }) => path.replace(/\{.*/, ""));
  for (const prefix of new Set([...prefixes, ...parents])) {
    const operation = createOperation("GET", `${prefix}...`, {
      listener: prefix.startsWith("/operator/") ? "internal" : "public",
      credential: operations.find(({ path }) => path.startsWith(`${prefix}{`))?.credential,
    });
    for (const [name, build] of Object.entries(pathTexts)) {
      yield requestCase(operation, `a path of ${name}`, maxPart, (size) => ({
        target: prefix + build(size, (text) => text.length),
      }));
    }
  }
}

/** Texts that are sent unencoded. */
const pathTexts: Record<string, BuildText> = {
  letters: (size) => "a".repeat(size),
  segments: (size) => "a/".repeat(size / 2),
  slashes: (size) => "/".repeat(size),
  "dot segments": (size) => "../".repeat(size / 3),
  "percent signs": (size) => "%25".repeat(size / 3),
  "encoded slashes": (size) => "%2f".repeat(size / 3),
  hyphens: (size) => "a-".repeat(size / 2),
  semicolons: (size) => "a;".repeat(size / 2),
};

const headerNames = `authorization x-api-key cookie host x-forwarded-for x-forwarded-host x-forwarded-proto forwarded
  content-type content-encoding accept accept-encoding accept-language prefer search-run search-for idempotency-key
  rank-explain rank-registries pennyblack-ignore traceparent tracestate origin referer user-agent if-none-match range
  expect te connection upgrade stripe-signature mcp-protocol-version mcp-session-id mcp-method x-pennyblack-csrf
  cache-control x-request-id`.split(/\s+/);

export function* headerCases(operations: readonly FuzzOperation[]): Generator<CostCase<CostInput>> {
  const [search, compat, keysList, session, webhook] = [
    "POST /v1/search",
    "POST /compat/tavily/search",
    "GET /v1/keys",
    "GET /console/api/session",
    "POST /v1/payments/stripe/webhook",
  ].map((name) => operations.find((operation) => operation.name === name));
  const operationOf = (header: string): FuzzOperation | undefined => {
    if (header.startsWith("mcp")) return mcp;
    if (header === "stripe-signature") return webhook;
    if (header === "pennyblack-ignore") return compat;
    if (header === "cookie" || header.includes("csrf") || header === "origin") return session;
    return header === "if-none-match" || header === "range" ? keysList : search;
  };
  for (const header of headerNames) {
    const operation = operationOf(header);
    if (!operation) continue;
    const body = operation.method === "POST" ? JSON.stringify({ query: "cats" }) : undefined;
    for (const [name, build] of Object.entries(plainTexts)) {
      const change = (size: number): Change => ({ headers: [[header, build(size, inHeader)]], body });
      yield requestCase(operation, `the header ${header} of ${name}`, maxPart, change);
    }
  }
  if (!search || !session) return;
  yield requestCase(search, "the header authorization with a long key", maxPart, (size) => ({
    headers: [["x-api-key", `pb_live_${"a".repeat(size)}`]],
    body: "{}",
  }));
  yield requestCase(search, "the header search-run with parameters", maxPart, (size) => ({
    headers: [["search-run", `x; ${plainTexts["parameters"]?.(size, inHeader)}`]],
    body: '{"query":"cats"}',
  }));
  yield requestCase(search, "many headers", maxPart, (size) => ({
    headers: Array.from({ length: size / 10 }, (_, index): [string, string] => [`x${index}`, "a"]),
    body: '{"query":"cats"}',
  }));
  yield requestCase(session, "the header cookie with many cookies", maxPart, (size) => ({
    headers: [["cookie", "pennyblack=a; ".repeat(size / 14)]],
  }));
}

export function* queryCases(operation: FuzzOperation): Generator<CostCase<CostInput>> {
  const path = usualPath(operation);
  const names = Object.keys(operation.query);
  for (const name of names) {
    const texts = /url|return_to/.test(name) ? { ...anyTexts, ...urlTexts } : plainTexts;
    for (const [kind, build] of Object.entries(texts)) {
      yield requestCase(operation, `the parameter ${name} of ${kind}`, maxPart, (size) => ({
        target: `${path}?${name}=${encodeURIComponent(build(size, inUrl).toWellFormed())}`,
      }));
    }
    yield requestCase(operation, `the parameter ${name} repeated`, maxPart, (size) => ({
      target: `${path}?${`${name}=a&`.repeat(size / (name.length + 3))}`,
    }));
  }
  const unknown = (size: number): string => plainTexts["pairs"]?.(size, (text) => text.length) ?? "";
  yield requestCase(operation, "unknown parameters", maxPart, (size) => ({ target: `${path}?${unknown(size)}` }));
  if (names.length > 0) {
    yield requestCase(operation, "parameters like known ones", maxPart, (size) => ({
      target: `${path}?${manyNames(names, size, (name) => name.length + 3)
        .map((name) => `${name}=1`)
        .join("&")}`,
    }));
  }
}
