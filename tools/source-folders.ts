/** The folders with TypeScript files that are checked and tested. */
export const sourceFolders = [
  "server",
  "sdk",
  "cli",
  "mcp",
  "overspend",
  "ai-sdk",
  "clients",
  "console",
  "tools",
  "bench",
  "eval",
  "examples",
  "deploy",
];
