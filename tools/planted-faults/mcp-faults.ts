import type { PlantedFault } from "./planted-fault.ts";

const tests = ["test/stories/mcp.test"];

export const mcpFaults: PlantedFault[] = [
  {
    description: "a page can write the marker of the untrusted block",
    file: "server/src/mcp/tool-output.ts",
    find: 'text.replace(/untrusted\\p{Dash}web\\p{Dash}text/giu, "untrusted web text")',
    replace: "text",
    tests,
    caughtBy: "text of a page cannot leave the marked block",
  },
  {
    description: "a client can cancel the calls of another key",
    file: "server/src/mcp/cancellations.ts",
    find: "JSON.stringify([keyId, sessionId, requestId])",
    replace: "JSON.stringify([sessionId, requestId])",
    tests,
    caughtBy: "runs and cancellations of other credentials have no effect",
  },
  {
    description: "every host name and origin is accepted",
    file: "server/src/mcp/mcp.ts",
    find: "  checkHost(request, context.allowedHosts);\n",
    replace: "",
    tests,
    caughtBy: "only allowed hosts and origins are served",
  },
  {
    description: "the run of a tool call is ignored",
    file: "server/src/app/mcp-app.ts",
    find: '"search-run": call.run,',
    replace: "",
    tests,
    caughtBy: "runs and cancellations of other credentials have no effect",
  },
];
