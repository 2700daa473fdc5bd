import { Client, type ProgressCallback, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

// The official MCP clients, unmodified: the current one with the stateless revision, and the one before it.

export const revisions = ["2026-07-28", "2025-11-25"] as const;
export type Revision = (typeof revisions)[number];

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: ProgressCallback;
}

export interface ToolReply {
  isError: boolean;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read results of every shape.
  structured: any;
}

export interface McpClient {
  listTools: Client["listTools"];
  /** Rejects if a structured result does not match the tool's output schema. */
  call(name: string, input?: Record<string, unknown>, options?: CallOptions): Promise<ToolReply>;
  instructions: string | undefined;
  protocolVersion: string | undefined;
  close(): Promise<void>;
}

export function connectMcp(
  revision: Revision,
  baseUrl: string,
  key: string,
  headers: Record<string, string> = {},
): Promise<McpClient> {
  const url = new URL(`${baseUrl}/mcp`);
  const options = { requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } } };
  const info = { name: "test", version: "0" };
  return revision === "2026-07-28"
    ? toMcpClient(
        new Client(info, { versionNegotiation: { mode: { pin: revision } } }),
        new StreamableHTTPClientTransport(url, options),
      )
    : toMcpClient(new EarlierClient(info), new EarlierTransport(url, options));
}

/** Connects a client of either package, and lists the tools: the clients validate the results of tools they have listed. */
export async function toMcpClient(client: Client | EarlierClient, transport: object): Promise<McpClient> {
  await client.connect(transport as never);
  await client.listTools();
  return {
    listTools: async () => (await client.listTools()) as Awaited<ReturnType<Client["listTools"]>>,
    call: async (name, input = {}, options = {}) => {
      const call = { name, arguments: input };
      const result =
        client instanceof Client
          ? await client.callTool(call, options)
          : await client.callTool(call, undefined, options);
      return toReply(result);
    },
    instructions: client.getInstructions(),
    protocolVersion: (transport as { protocolVersion?: string }).protocolVersion,
    close: () => client.close(),
  };
}

function toReply({ content, isError, structuredContent }: Record<string, unknown>): ToolReply {
  const [first] = (content ?? []) as { text?: string }[];
  return { isError: isError === true, text: first?.text ?? "", structured: structuredContent };
}
