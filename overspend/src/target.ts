// A target describes a gateway: the request that costs money, how its answers are recognized, and where the gateway reports
// what it has charged. Targets are JSON files; "${NAME}" in a text is replaced by an environment variable.

export interface Target {
  name: string;
  request: {
    method: string;
    url: string;
    headers: Record<string, string>;
    /** Sent as JSON. "{call}" in a text is replaced by the id of the call. */
    body: unknown;
    /** A header with the id of the call, which is the same for its retries. Undefined if the gateway has none. */
    idempotencyHeader: string | undefined;
  };
  /** An answer for which the gateway charges. */
  admitted: Match;
  /** The budget is spent. */
  refused: Match;
  /** Undefined if the gateway does not report charges. */
  account: Account | undefined;
}

export interface Match {
  status: number[];
  /** If set, the body contains this text as well. */
  text: string | undefined;
}

export interface Account {
  url: string;
  headers: Record<string, string>;
  /** The path of the amount in the JSON response, such as "info.spend". */
  field: string;
  /** Whether the amount is the amount spent or the amount left. */
  shows: "spent" | "balance";
  /** The price of one call, in the unit of the amount. */
  price: number;
}

/** The file is invalid, or a variable is not set. */
export class TargetFault extends Error {}

export function parseTarget(text: string, environment: Record<string, string | undefined>): Target {
  const root = asObject(parseJson(text), "the file");
  const request = asObject(root["request"], "request");
  const read = (value: unknown, name: string): string => expand(asText(value, name), environment);
  const headers = (value: unknown, name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(asObject(value ?? {}, name)).map(([key, item]) => [key, read(item, name)]));
  const account = root["account"] === undefined ? undefined : asObject(root["account"], "account");
  return {
    name: asText(root["name"], "name"),
    request: {
      method: read(request["method"] ?? "POST", "request.method"),
      url: read(request["url"], "request.url"),
      headers: headers(request["headers"], "request.headers"),
      body: request["body"],
      idempotencyHeader:
        request["idempotencyHeader"] === undefined
          ? undefined
          : asText(request["idempotencyHeader"], "request.idempotencyHeader"),
    },
    admitted: readMatch(root["admitted"] ?? { status: [200] }, "admitted"),
    refused: readMatch(root["refused"] ?? { status: [402] }, "refused"),
    account: account && {
      url: read(account["url"], "account.url"),
      headers: headers(account["headers"], "account.headers"),
      field: asText(account["field"], "account.field"),
      shows: readShows(account["shows"]),
      price: readPrice(account["price"]),
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TargetFault(`The file is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function readMatch(value: unknown, name: string): Match {
  const { status, text } = asObject(value, name);
  if (!Array.isArray(status) || status.length === 0 || !status.every((code) => Number.isInteger(code)))
    throw new TargetFault(`${name}.status must be a list of status codes.`);
  return { status: status as number[], text: text === undefined ? undefined : asText(text, `${name}.text`) };
}

function readShows(value: unknown): Account["shows"] {
  if (value === "spent" || value === "balance") return value;
  throw new TargetFault('account.shows must be "spent" or "balance".');
}

function readPrice(value: unknown): number {
  if (typeof value === "number" && value > 0) return value;
  throw new TargetFault("account.price must be a positive number.");
}

function expand(text: string, environment: Record<string, string | undefined>): string {
  return text.replaceAll(/\$\{([A-Z0-9_]+)\}/g, (_, name: string) => {
    const value = environment[name];
    if (!value) throw new TargetFault(`Set the environment variable ${name}.`);
    return value;
  });
}

function asObject(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TargetFault(`${name} must be an object.`);
}

function asText(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new TargetFault(`${name} must be a text.`);
}
