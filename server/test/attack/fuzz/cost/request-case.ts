import type { FuzzOperation } from "../fuzz-operation.ts";
import { type Input, usualPath } from "../inputs.ts";
import type { MeasureText } from "./adversarial-texts.ts";
import type { CostCase } from "./find-costly-cases.ts";

/** A request, with the answer of the upstream if it matters; or a function that is measured in this process. */
export type CostInput = { request: Input; upstreamAnswer?: string } | { call: () => void };

// The limit of the HTTP server, less the rest of the request.
const maxHeadBytes = 16_384;
const restOfHead = 700;
export const maxPart = maxHeadBytes - restOfHead;

export const inUrl: MeasureText = (text) => encodeURIComponent(text.toWellFormed()).length;
export const inHeader: MeasureText = (text) => text.length;
export const inJson: MeasureText = (text) => Buffer.byteLength(JSON.stringify(text)) - 2;

export type Change = Partial<Pick<Input, "target" | "headers" | "body">>;

/** A regular request, with one part of it changed. */
export function requestCase(
  operation: FuzzOperation,
  part: string,
  limit: number,
  change: (size: number) => Change,
): CostCase<CostInput> {
  return {
    name: `${operation.name}: ${part}`,
    limit,
    build: (size) => ({ request: requestOf(operation, change(size)) }),
  };
}

let requests = 0;

export function requestOf(
  operation: FuzzOperation,
  { target = usualPath(operation), headers = [], body }: Change,
): Input {
  requests += 1;
  const contentType: Input["headers"] = body === undefined ? [] : [["content-type", "application/json"]];
  const idempotency: Input["headers"] =
    operation.idempotency === "required" ? [["idempotency-key", `cost-${requests}`]] : [];
  return {
    operation,
    tenant: requests,
    pick: 0,
    method: operation.method,
    target,
    headers: [...credentialsOf(operation), ...contentType, ...idempotency, ...headers],
    body,
    chunks: undefined,
    mutation: undefined,
  };
}

const keys = { search: "{{test}}", mgmt: "{{mgmt}}", operator: "{{operator}}" };

function credentialsOf({ credential }: FuzzOperation): Input["headers"] {
  if (credential === undefined) return [];
  if (credential === "session" || credential === "disposable")
    return [
      ["cookie", "pennyblack={{owner}}"],
      ["x-pennyblack-csrf", "1"],
    ];
  return [["authorization", `Bearer ${keys[credential]}`]];
}

/** Distinct misspellings, for which a suggestion has to be found. */
export function manyNames(known: readonly string[], size: number, lengthOf: (name: string) => number): string[] {
  const names: string[] = [];
  for (let index = 0, left = size; left > 0; index += 1) {
    const name = `${known[index % known.length]}${index.toString(36)}`;
    left -= lengthOf(name);
    if (left > 0 || index === 0) names.push(name);
  }
  return names;
}
