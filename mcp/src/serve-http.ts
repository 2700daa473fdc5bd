import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export interface HttpOptions {
  host: string;
  /** If set, every request must bring it. */
  token: string | undefined;
  now: () => number;
}

interface Session {
  transport: StreamableHTTPServerTransport;
  usedAtMs: number;
}

const idleMs = 30 * 60_000;
const mostSessions = 100;

/** Streamable HTTP at /mcp. A session is one conversation, and ends half an hour after its last request. */
export function serveHttp(open: () => McpServer, options: HttpOptions): Server {
  const sessions = new Map<string, Session>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = refuse(request, options);
    if (refusal) return end(response, ...refusal);
    for (const [id, { transport, usedAtMs }] of sessions) {
      if (options.now() - usedAtMs <= idleMs) continue;
      sessions.delete(id);
      await transport.close();
    }
    const id = request.headers["mcp-session-id"];
    const session = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && !session) return end(response, 404, "This session has ended. Begin a new one.");
    if (!session && sessions.size >= mostSessions) return end(response, 503, "Too many sessions. Try again later.");
    if (session) session.usedAtMs = options.now();
    await (session?.transport ?? (await begin())).handleRequest(request, response);
  }

  async function begin(): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, usedAtMs: options.now() }),
      onsessionclosed: (id) => void sessions.delete(id),
      maxRequestBodySize: 65_536,
    });
    await open().connect(transport);
    return transport;
  }

  return createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      console.error(error);
      if (response.headersSent) response.destroy();
      else end(response, 500, "This server failed. Nothing is known about the search.");
    });
  });
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[?::1\]?)$/.test(host);
}

/** A page in the user's browser must not reach us: neither by its own Origin nor by a name that it points here. */
function refuse(request: IncomingMessage, { host, token }: HttpOptions): [status: number, text: string] | undefined {
  const { host: asked, origin, authorization } = request.headers;
  const isOurs = (address: string) => {
    const { hostname = "", username } = URL.canParse(address) ? new URL(address) : {};
    return username === "" && (isLoopback(hostname) || hostname === host);
  };
  if (request.url !== "/mcp") return [404, "The address is /mcp."];
  if (!isOurs(`http://${asked}`) || (origin !== undefined && !isOurs(origin))) return [403, "Wrong Host or Origin."];
  if (token && !isSame(authorization ?? "", `Bearer ${token}`)) return [401, "The bearer token is missing or wrong."];
  return undefined;
}

function isSame(left: string, right: string): boolean {
  const [one, other] = [left, right].map((text) => createHash("sha256").update(text).digest());
  return one !== undefined && other !== undefined && timingSafeEqual(one, other);
}

function end(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}
