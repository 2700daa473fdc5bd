import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export interface HttpOptions {
  host: string;
  /** Bearer token required on every request, if set. */
  token: string | undefined;
  now: () => number;
}

interface Session {
  transport: StreamableHTTPServerTransport;
  lastUsedMs: number;
}

const idleMs = 30 * 60_000;
const maxSessions = 100;

/** Serves Streamable HTTP at /mcp. A session is one conversation and expires 30 minutes after its last request. */
export function serveHttp(createMcpServer: () => McpServer, options: HttpOptions): Server {
  const sessions = new Map<string, Session>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const denial = checkAccess(request, options);
    if (denial) return sendError(response, ...denial);
    for (const [id, { transport, lastUsedMs }] of sessions) {
      if (options.now() - lastUsedMs <= idleMs) continue;
      sessions.delete(id);
      await transport.close();
    }
    const id = request.headers["mcp-session-id"];
    const session = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && !session) return sendError(response, 404, "Session expired. Start a new one.");
    if (!session && sessions.size >= maxSessions) return sendError(response, 503, "Too many sessions. Retry later.");
    if (session) session.lastUsedMs = options.now();
    await (session?.transport ?? (await startSession())).handleRequest(request, response);
  }

  async function startSession(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, lastUsedMs: options.now() }),
      onsessionclosed: (id) => void sessions.delete(id),
      maxRequestBodySize: 65_536,
    });
    await createMcpServer().connect(transport);
    return transport;
  }

  return createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else sendError(response, 500, "Internal error. The search may have been charged.");
    });
  });
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(host);
}

/** Rejects web pages in the user's browser: cross-origin requests by Origin, DNS rebinding by Host. */
function checkAccess(request: IncomingMessage, { host, token }: HttpOptions): [number, string] | undefined {
  const { host: hostHeader, origin, authorization } = request.headers;
  const isAllowed = (address: string) => {
    const { hostname = "", username } = URL.canParse(address) ? new URL(address) : {};
    return username === "" && (isLoopback(hostname) || hostname === host);
  };
  if (request.url !== "/mcp") return [404, "Not found. Use /mcp."];
  if (!isAllowed(`http://${hostHeader}`)) return [403, "Host not allowed."];
  if (origin !== undefined && !isAllowed(origin)) return [403, "Origin not allowed."];
  if (token && !isEqual(authorization ?? "", `Bearer ${token}`)) return [401, "Missing or invalid bearer token."];
  return undefined;
}

function isEqual(left: string, right: string): boolean {
  const [one, other] = [left, right].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}
