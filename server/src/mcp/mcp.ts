import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createMcpHandler, McpServer, validateHostHeader, validateOriginHeader } from "@modelcontextprotocol/server";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import { headerFault, invalidInput } from "../http/input/faults.ts";
import { readBody } from "../http/input/read-body.ts";
import { parseJson } from "../http/input/read-json.ts";
import { NoResponse } from "../http/no-response.ts";
import type { Route } from "../http/route.ts";
import type { Principal } from "../keys/keys.ts";
import { version } from "../lib/version.ts";
import { leaveSlot, occupySlot } from "../limits/occupied-slots.ts";
import { Problem } from "../problems/problems.ts";
import type { SearchAnswer } from "../search/search.ts";
import { describeCaller } from "../telemetry/describe-caller.ts";
import type { BudgetState } from "../wallet/wallet.ts";
import { callTool, type ReadBalance, type RequestBudget, type ToolCall } from "./call-tool.ts";
import { type Cancellations, createCancellations } from "./cancellations.ts";
import { instructions, listTools } from "./tools.ts";

// The Model Context Protocol (MCP) over HTTP: revision 2026-07-28, and the earlier ones with Streamable HTTP. Neither has
// state on the server, so any server can answer any request. Each request carries one message:
//
//   Host, Origin ............................... 403
//   API key, or access token (oauth/) .......... 401, 403, 503
//   the wallet's share of this server .......... 429, 503
//   media type, size, JSON ..................... 415, 413, 400
//   revision and method ........................ the SDK
//   web_search ................................. search(), with the limits, hold and capture of POST /v1/search
//   everything else ............................ the limits of management requests

export interface McpDependencies {
  /** Host names of requests and of the web pages that send them, without ports. */
  allowedHosts: readonly string[];
  /** The schema of a search, which the arguments of web_search extend. */
  searchBody: TObject;
  /** `onFound` is called with the owner of a key that exists, before it is refused or accepted. */
  authenticate: (request: FastifyRequest, onFound: (caller: Principal) => void) => Promise<Principal>;
  /**
   * Records a request that was refused before its message was known, because it could have been a search. The caller is
   * undefined if its key does not exist.
   */
  recordRefusal: (request: FastifyRequest, caller: Principal | undefined, error: unknown) => void;
  /** Records a request that the server rejected before its key was known. */
  recordRejected: (problem: Problem) => void;
  /** Occupies a slot of the wallet while its request is read. */
  enter: (caller: Principal) => () => void;
  /** Applies the limits of management requests. */
  limitRequest: (caller: Principal, reply: FastifyReply) => Promise<void>;
  runSearch: (search: McpSearch) => Promise<SearchAnswer>;
  readBalance: ReadBalance;
  requestBudget: RequestBudget;
}

/** A search on behalf of a tool call. */
export interface McpSearch {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Principal;
  readBody: () => Buffer;
  /** The value of `Search-Run`. */
  run: string | undefined;
  signal: AbortSignal;
  onHold: (budgets: readonly BudgetState[]) => void;
  onProgress: (progress: number, message: string) => void;
}

export function mcpRoutes(dependencies: McpDependencies): Route[] {
  const cancellations = createCancellations();
  const tools = { default: listTools(dependencies.searchBody), requesting: listTools(dependencies.searchBody, true) };
  return [
    {
      method: "POST",
      path: "/mcp",
      isSearch: true,
      scope: "search",
      // Not part of the REST API: clients discover it with the protocol itself.
      operationId: "",
      tag: "Documents",
      summary: "",
      description: "",
      answer: "application/json",
      problems: [],
      onRejected: dependencies.recordRejected,
      handle: (request, reply) => handleMessage({ ...dependencies, cancellations, tools }, request, reply),
    },
  ];
}

interface Context extends McpDependencies {
  cancellations: Cancellations;
  /** Those of keys that can request a budget have one more. */
  tools: Record<"default" | "requesting", ReturnType<typeof listTools>>;
}

interface Message {
  id?: unknown;
  method?: unknown;
  params?: { name?: unknown; requestId?: unknown; _meta?: { progressToken?: unknown } | null } | null;
}

async function handleMessage(context: Context, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  checkHost(request, context.allowedHosts);
  const { caller, message } = await receiveMessage(context, request);
  // A search applies its own limits.
  if (!isSearch(message)) await context.limitRequest(caller, reply);

  const sessionId = readSessionId(request);
  if (message.method === "notifications/cancelled" && sessionId !== undefined)
    context.cancellations.cancel({ keyId: caller.keyId, sessionId, requestId: message.params?.requestId });
  const exchange = await answerMessage(context, { request, reply, caller, message, sessionId });
  // The session has no state. It identifies the client in cancellations, which this revision sends as separate requests.
  if (message.method === "initialize" && exchange.response.ok) reply.header("mcp-session-id", randomUUID());
  return sendResponse(exchange, reply);
}

async function receiveMessage(
  { authenticate, enter, recordRefusal }: Context,
  request: FastifyRequest,
): Promise<{ caller: Principal; message: Message }> {
  let found: Principal | undefined;
  try {
    const caller = await authenticate(request, (owner) => {
      found = owner;
      request.logFields = describeCaller(owner);
    });
    occupySlot(request, enter(caller));
    const message = parseMessage(await readBody(request.raw));
    leaveSlot(request);
    return { caller, message };
  } catch (error) {
    recordRefusal(request, found, error);
    throw error;
  }
}

/** A page in the user's browser must not reach this server: directly by its Origin, or by DNS rebinding by its Host. */
function checkHost({ raw: { headers } }: FastifyRequest, allowedHosts: readonly string[]): void {
  const hosts = [...allowedHosts];
  const isHostAllowed = !headers.host?.includes("@") && validateHostHeader(headers.host, hosts).ok;
  if (isHostAllowed && validateOriginHeader(headers.origin, hosts).ok) return;
  const fault = headerFault(isHostAllowed ? "Origin" : "Host", "is not an allowed host name");
  throw new Problem("invalid_request", {
    status: 403,
    detail: `${fault.detail}. You were not charged. Use the public URL of this server, or have the operator add the name to \`PENNYBLACK_MCP_HOSTS\`.`,
    members: { errors: [fault] },
  });
}

function parseMessage(bytes: Buffer): Message {
  const message = parseJson(bytes);
  if (typeof message === "object" && message !== null && !Array.isArray(message)) return message;
  throw invalidInput([{ pointer: "#", code: "wrong_type", detail: "must be a single JSON-RPC message" }]);
}

function isSearch({ method, params }: Message): boolean {
  return method === "tools/call" && params?.name === "web_search";
}

function wantsProgress({ params }: Message): boolean {
  const { _meta: meta } = params ?? {};
  return meta?.progressToken !== undefined;
}

const maxSessionId = 128;

function readSessionId({ raw: { headers } }: FastifyRequest): string | undefined {
  const sessionId = headers["mcp-session-id"];
  return typeof sessionId === "string" && sessionId.length <= maxSessionId ? sessionId : undefined;
}

interface Exchange {
  response: Response;
  /** Resolves when the tool call has ended, including the release of its hold. */
  ended: Promise<unknown>;
  isStreamed: boolean;
}

interface Received {
  request: FastifyRequest;
  reply: FastifyReply;
  caller: Principal;
  message: Message;
  sessionId: string | undefined;
}

const forwardedHeaders = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"];

async function answerMessage(context: Context, received: Received): Promise<Exchange> {
  const { request, reply, message } = received;
  const disconnected = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) disconnected.abort();
  });
  let ended: Promise<unknown> = Promise.resolve();
  let sdkError: Error | undefined;
  const handler = createMcpHandler(
    () =>
      createServer(context, received, disconnected.signal, (call) => {
        ended = call.catch(() => undefined);
        return call;
      }),
    // The tools never change, so there is nothing to subscribe to.
    { maxSubscriptions: 0, keepAliveMs: 0, onerror: (error) => void (sdkError = error) },
  );
  const headers = forwardedHeaders.flatMap((name): [string, string][] => {
    const value = request.raw.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  const webRequest = new Request("http://localhost/mcp", { method: "POST", headers, signal: disconnected.signal });
  const response = await handler.fetch(webRequest, { parsedBody: message });
  if (response.status >= 500) throw new Problem("internal_error", { cause: sdkError });
  const isStream = response.headers.get("content-type") === "text/event-stream";
  return { response, ended, isStreamed: isStream && wantsProgress(message) };
}

type Track = <Result>(call: Promise<Result>) => Promise<Result>;

/** A server for one message. The tools have their own schemas, so their calls are handled below the SDK's tools. */
function createServer(context: Context, received: Received, disconnected: AbortSignal, track: Track): McpServer {
  const { request, reply, caller, sessionId } = received;
  const mcp = new McpServer(
    { name: "pennyblack", title: "Pennyblack", version },
    { capabilities: { tools: {} }, instructions },
  );
  const tools = context.tools[caller.scopes.includes("budgets:request") ? "requesting" : "default"];
  mcp.server.setRequestHandler("tools/list", () => ({ tools }));
  mcp.server.setRequestHandler("tools/call", ({ params }, { mcpReq }) => {
    const { _meta: meta } = mcpReq;
    const progressToken = meta?.progressToken;
    const onProgress = (progress: number, message: string): void => {
      if (progressToken === undefined) return;
      const notification = { progressToken, progress, total: 3, message };
      mcpReq.notify({ method: "notifications/progress", params: notification }).catch(() => undefined);
    };
    const run = (signal: AbortSignal) => {
      const call: ToolCall = {
        caller,
        requestId: request.id,
        runSearch: (search) => context.runSearch({ ...search, request, reply, caller, signal, onProgress }),
        readBalance: context.readBalance,
        requestBudget: context.requestBudget,
        onInternalError: (err) => request.log.error({ err }, "internal error"),
      };
      return callTool(params.name, params.arguments ?? {}, call);
    };
    if (sessionId === undefined) return track(run(disconnected));
    const name = { keyId: caller.keyId, sessionId, requestId: mcpReq.id };
    return track(context.cancellations.track(name, (signal) => run(AbortSignal.any([signal, disconnected]))));
  });
  return mcp;
}

/** Streams a response with progress; other responses are sent once they are complete, with headers about the search. */
async function sendResponse({ response, ended, isStreamed }: Exchange, reply: FastifyReply): Promise<unknown> {
  reply.code(response.status);
  const type = response.headers.get("content-type");
  if (type !== null) reply.header("content-type", type);
  if (isStreamed && response.body) {
    // The charge is not known yet.
    reply.removeHeader("wallet-charge");
    reply.header("x-accel-buffering", "no");
    reply.send(Readable.fromWeb(response.body));
    await Promise.allSettled([finished(reply.raw), ended]);
    return reply;
  }
  const body = Buffer.from(await response.arrayBuffer());
  await ended;
  if (reply.raw.destroyed) throw new NoResponse("the caller disconnected");
  return reply.send(body.length > 0 ? body : undefined);
}
