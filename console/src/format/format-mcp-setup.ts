// How an app connects to the MCP endpoint, as in docs/mcp.md.

export const mcpApps = ["Claude Code", "Cursor", "VS Code", "Other"] as const;

export type McpApp = (typeof mcpApps)[number];

export interface McpServer {
  /** Base URL of the server. */
  url: string;
  /** Undefined if the app signs in with OAuth. */
  key: string | undefined;
}

export function formatMcpSetup(app: McpApp, { url, key }: McpServer): string {
  const endpoint = `${url}/mcp`;
  const headers = key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } };
  switch (app) {
    case "Claude Code": {
      const header = key === undefined ? "" : ` --header "Authorization: Bearer ${key}"`;
      return `claude mcp add --transport http${header} pennyblack ${endpoint}`;
    }
    case "Cursor":
      return format({ mcpServers: { pennyblack: { url: endpoint, ...headers } } });
    case "VS Code":
      return format({ servers: { pennyblack: { type: "http", url: endpoint, ...headers } } });
    case "Other":
      return [`URL: ${endpoint}`, ...(key === undefined ? [] : [`Header: Authorization: Bearer ${key}`])].join("\n");
  }
}

/** The file that the text belongs in; undefined if it is a command or a form. */
export const mcpFiles: Partial<Record<McpApp, string>> = {
  Cursor: "~/.cursor/mcp.json",
  "VS Code": ".vscode/mcp.json",
};

function format(settings: object): string {
  return JSON.stringify(settings, undefined, 2);
}
