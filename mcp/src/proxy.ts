import { randomUUID } from "node:crypto";

export interface ProxyOptions {
  /** The endpoint of the server. */
  url: string;
  apiKey: string;
  /** Sends a message to the client. */
  send: (message: unknown) => void;
}

export interface Proxy {
  /** Passes a line of the client on to the server, and the server's messages back. Never rejects. */
  receive(line: string): Promise<void>;
}

interface Message {
  id?: string | number;
  method?: string;
  params?: { name?: unknown; requestId?: unknown; _meta?: Record<string, unknown> };
  result?: { protocolVersion?: unknown };
}

const timeoutMs = 60_000;
const maxAttempts = 3;
const revisionKey = "io.modelcontextprotocol/protocolVersion";

/**
 * Adds the headers that HTTP requires: those of revision 2026-07-28 from each message, those of earlier revisions from the
 * response to `initialize`. A cancellation closes the connection of the call, which cancels it in every revision.
 */
export function createProxy({ url, apiKey, send }: ProxyOptions): Proxy {
  const calls = new Map<unknown, AbortController>();
  const negotiated: Record<string, string> = {};

  async function receive(line: string): Promise<void> {
    const message = parse(line);
    if (!message) return send(toError(null, -32_700, "The line is not a JSON-RPC message."));
    const { id, method, params } = message;
    if (method === "notifications/cancelled") return calls.get(params?.requestId)?.abort();
    const call = new AbortController();
    if (id !== undefined) calls.set(id, call);
    try {
      await exchange(message, line, call.signal);
    } catch (error) {
      if (!call.signal.aborted && id !== undefined) send(toError(id, -32_000, describe(error, method)));
    } finally {
      if (calls.get(id) === call) calls.delete(id);
    }
  }

  async function exchange(message: Message, body: string, cancelled: AbortSignal): Promise<void> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      // A repeated request is not charged again.
      "idempotency-key": randomUUID(),
      ...negotiated,
      ...currentHeaders(message),
    };
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(timeoutMs)]);
    const response = await post({ method: "POST", headers, body, signal });
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("application/problem+json")) {
      const { detail, code } = (await response.json()) as { detail: string; code: string };
      if (message.id !== undefined) send(toError(message.id, -32_000, `${detail} (${code})`));
      else process.stderr.write(`pennyblack-mcp: ${code}: ${detail}\n`);
      return;
    }
    const forward = (reply: Message): void => {
      if (message.method === "initialize") negotiate(reply, response);
      send(reply);
    };
    if (type.startsWith("text/event-stream")) for await (const reply of readEvents(response)) forward(reply);
    else if (type.startsWith("application/json")) forward((await response.json()) as Message);
    else if (!response.ok) throw new Error(`The server returned status ${response.status}.`);
  }

  /** Repeats a request that got no response. */
  async function post(init: RequestInit): Promise<Response> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await fetch(url, init);
      } catch (error) {
        if (attempt === maxAttempts || init.signal?.aborted) throw error;
      }
    }
  }

  function negotiate({ result }: Message, response: Response): void {
    const session = response.headers.get("mcp-session-id");
    if (session !== null) negotiated["mcp-session-id"] = session;
    if (typeof result?.protocolVersion === "string") negotiated["mcp-protocol-version"] = result.protocolVersion;
  }

  return { receive };
}

function parse(line: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    return undefined;
  }
}

/** The headers of revision 2026-07-28, which repeat parts of the message. */
function currentHeaders({ method, params }: Message): Record<string, string> {
  const { _meta: meta } = params ?? {};
  const revision = meta?.[revisionKey];
  if (typeof revision !== "string" || typeof method !== "string") return {};
  const name = typeof params?.name === "string" ? { "mcp-name": params.name } : {};
  return { "mcp-protocol-version": revision, "mcp-method": method, ...name };
}

async function* readEvents({ body }: Response): AsyncGenerator<Message> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(5).trim()).join("\n")) as Message;
    }
  }
}

function toError(id: string | number | null, code: number, message: string) {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function describe(error: unknown, method: string | undefined): string {
  const { cause, message } = error instanceof Error ? error : new Error(String(error));
  const reason = cause instanceof Error ? cause.message || cause.name : message;
  const charge = method === "tools/call" ? " This call may have been charged (at most 0.01 USD)." : "";
  return `No response from the Pennyblack server: ${reason}.${charge} Check PENNYBLACK_URL and try again.`;
}
