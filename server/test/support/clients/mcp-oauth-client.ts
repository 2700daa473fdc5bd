import assert from "node:assert/strict";
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { type McpClient, toMcpClient } from "./mcp-clients.ts";

// The official MCP client with its own OAuth flow: it finds the provider through our metadata and registers itself there.

export interface SignedInApp {
  /** Connects with the token. */
  connect(): Promise<McpClient>;
  token: string;
  /** Issued together with the token, for the app itself. */
  idToken: string;
  clientId: string;
  /** The parameters with which the code was exchanged. */
  exchange: { tokenUrl: string; body: URLSearchParams };
}

export const redirectUrl = "http://127.0.0.1:19006/callback";

/** `visit` opens the authorization page as the person's browser would, and returns the URL that it redirects to. */
export async function signInApp(baseUrl: string, visit: (url: string) => Promise<string>): Promise<SignedInApp> {
  const memory: Partial<Record<"client" | "tokens" | "verifier" | "page" | "discovery", unknown>> = {};
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: "Test app",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
    clientInformation: () => memory.client as never,
    saveClientInformation: (client) => void (memory.client = client),
    tokens: () => memory.tokens as never,
    saveTokens: (tokens) => void (memory.tokens = tokens),
    redirectToAuthorization: (url) => void (memory.page = url.href),
    saveCodeVerifier: (verifier) => void (memory.verifier = verifier),
    codeVerifier: () => String(memory.verifier),
    saveDiscoveryState: (state) => void (memory.discovery = state),
    discoveryState: () => memory.discovery as never,
  };
  let exchange: SignedInApp["exchange"] | undefined;
  const recordExchange: typeof fetch = async (input, init) => {
    const { body } = init ?? {};
    if (body instanceof URLSearchParams) exchange = { tokenUrl: new Request(input).url, body };
    return fetch(input, init);
  };
  const create = () =>
    new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { authProvider: provider, fetch: recordExchange });
  const createClient = () =>
    new Client({ name: "test", version: "0" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const first = create();
  await assert.rejects(createClient().connect(first), UnauthorizedError);
  const answer = new URL(await visit(String(memory.page)));
  await first.finishAuth(answer.searchParams);
  const { access_token: token, id_token: idToken } = memory.tokens as { access_token: string; id_token: string };
  const { client_id: clientId } = memory.client as { client_id: string };
  assert.ok(exchange);
  return { connect: () => toMcpClient(createClient(), create()), token, idToken, clientId, exchange };
}
