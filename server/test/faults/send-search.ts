import { Agent, request as sendRequest } from "undici";
import type { TestWallet } from "../support/services/server.ts";

export interface SearchRequest {
  wallet: TestWallet;
  query: string;
  idempotencyKey?: string | undefined;
  run?: string;
}

export type Outcome = Answered | Unanswered;

export interface Answered {
  kind: "answered";
  status: number;
  code?: string | undefined;
  requestId: string;
  /** The Wallet-Charge header. */
  charge: string;
  isReplayed: boolean;
  text: string;
}

export interface Unanswered {
  /** Closed: the request was sent, and no complete response arrived. Refused: the request was not sent completely. */
  kind: "closed" | "refused";
}

/** Longer than a server waits before it reports an unknown outcome. */
const maxResponseMs = 60_000;
const agent = new Agent({ keepAliveTimeout: 5_000, connectTimeout: 2_000 });

/** Sends a search once. Throws if the response is not JSON, or if the server has not responded after a minute. */
export async function sendSearch(
  serverUrl: string,
  request: SearchRequest,
  timeoutMs = maxResponseMs,
): Promise<Outcome> {
  try {
    const { statusCode, headers, body } = await sendRequest(`${serverUrl}/v1/search`, {
      method: "POST",
      headers: searchHeaders(request),
      body: JSON.stringify({ query: request.query }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      dispatcher: agent,
    });
    const text = await body.text();
    return {
      kind: "answered",
      status: statusCode,
      code: (JSON.parse(text) as { code?: string }).code,
      requestId: String(headers["request-id"] ?? ""),
      charge: String(headers["wallet-charge"] ?? ""),
      isReplayed: headers["idempotent-replayed"] === "true",
      text,
    };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ECONNREFUSED" || code === "UND_ERR_CONNECT_TIMEOUT") return { kind: "refused" };
    const isHung = code.endsWith("_TIMEOUT") && timeoutMs >= maxResponseMs;
    if (!isHung && (code === "ECONNRESET" || code === "EPIPE" || code.startsWith("UND_ERR"))) return { kind: "closed" };
    throw error;
  }
}

export function searchHeaders({ wallet, idempotencyKey, run }: SearchRequest): Record<string, string> {
  return {
    "x-api-key": wallet.live,
    "content-type": "application/json",
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    ...(run === undefined ? {} : { "search-run": `${run}; max=0.50; ttl=600` }),
  };
}
