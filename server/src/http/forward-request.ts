import type { FastifyReply, FastifyRequest } from "fastify";
import { Agent, type Dispatcher, request as send } from "undici";
import type { AccountMoved } from "../problems/account-moved.ts";
import { NoResponse } from "./no-response.ts";
import { bodyOf } from "./read-body.ts";

// Requests of an account that was moved to another cell, until the proxy in front of the cells knows it. Usually one hop;
// more only if the account moves again meanwhile. The other cell authenticates the key itself, so no secret is shared. Its
// PENNYBLACK_TRUSTED_PROXIES must list this server, because limits and allowed addresses of keys apply to the caller's address.

export type ForwardRequest = (request: FastifyRequest, reply: FastifyReply, moved: AccountMoved) => Promise<void>;

interface ForwardDependencies {
  /** The name of this cell, and the base URLs of all. */
  cell: string;
  cells: ReadonlyMap<string, string>;
  /** NULL if it is this cell, to which the account has returned meanwhile. */
  findOwner: (walletId: string) => Promise<string | null>;
}

/** How often a request was forwarded. */
const hopsHeader = "pennyblack-hops";
const maxHops = 3;

/** Of the connection, or set again by the HTTP library. */
const hopHeaders =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|expect|x-forwarded-.*)$/;

export function createForwarder({ cell, cells, findOwner }: ForwardDependencies): ForwardRequest {
  // Rare, so connections are not kept.
  const dispatcher = new Agent({
    pipelining: 0,
    connect: { timeout: 2_000 },
    headersTimeout: 50_000,
    bodyTimeout: 50_000,
  });
  return async (request, reply, moved) => {
    const hops = Number(request.raw.headers[hopsHeader] ?? 0) + 1;
    const url = cells.get((await findOwner(moved.walletId)) ?? cell);
    // Also for a header that is not a number.
    if (url === undefined || !(hops <= maxHops)) throw moved;
    const left = new AbortController();
    reply.raw.once("close", () => left.abort());
    const { statusCode, headers, body } = await send(`${url}${request.raw.url ?? "/"}`, {
      dispatcher,
      method: request.raw.method as Dispatcher.HttpMethod,
      headers: { ...requestHeaders(request), [hopsHeader]: String(hops) },
      body: bodyOf(request.raw) ?? (hasBody(request) ? request.raw : null),
      signal: left.signal,
    }).catch((cause: unknown): never => {
      // Without a connection nothing was sent. Otherwise it is unknown whether the search was charged.
      throw isUnsent(cause) ? moved : new NoResponse("the other cell did not respond", { cause });
    });
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined && !hopHeaders.test(name)) reply.header(name, value);
    const answer = await body.arrayBuffer().catch((cause: unknown): never => {
      throw new NoResponse("the response of the other cell was incomplete", { cause });
    });
    reply.code(statusCode).send(Buffer.from(answer));
  };
}

function requestHeaders({ raw, ip, protocol }: FastifyRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw.headers))
    if (typeof value === "string" && !hopHeaders.test(name)) headers[name] = value;
  return { ...headers, "x-forwarded-for": ip, "x-forwarded-proto": protocol };
}

function hasBody({ raw }: FastifyRequest): boolean {
  return !raw.readableDidRead && ("content-length" in raw.headers || "transfer-encoding" in raw.headers);
}

function isUnsent(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code);
}
