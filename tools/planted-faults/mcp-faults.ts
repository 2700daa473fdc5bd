import type { PlantedFault } from "./planted-fault.ts";

const tests = ["test/stories/mcp.test"];
const oauthTests = ["test/stories/mcp-oauth.test"];
const verifier = "server/src/oauth/verify-access-token.ts";
const hostileTokens =
  "rejects tokens that are not for this server, from another issuer, expired or not signed by the provider";

export const mcpFaults: PlantedFault[] = [
  {
    id: "page-writes-untrusted-marker",
    description: "a page can write the marker of the untrusted block",
    file: "server/src/mcp/tool-output.ts",
    find: 'text.replace(/untrusted\\p{Dash}web\\p{Dash}text/giu, "untrusted web text")',
    replace: "text",
    tests,
    caughtBy: "text of a page cannot leave the marked block",
  },
  {
    id: "calls-of-other-key-cancelled",
    description: "a client can cancel the calls of another key",
    file: "server/src/mcp/cancellations.ts",
    find: "JSON.stringify([keyId, sessionId, requestId])",
    replace: "JSON.stringify([sessionId, requestId])",
    tests,
    caughtBy: "runs and cancellations of other credentials have no effect",
  },
  {
    id: "any-origin-accepted",
    description: "every host name and origin is accepted",
    file: "server/src/mcp/mcp.ts",
    find: "  checkHost(request, context.allowedHosts);\n",
    replace: "",
    tests,
    caughtBy: "only allowed hosts and origins are served",
  },
  {
    id: "tool-call-run-ignored",
    description: "the run of a tool call is ignored",
    file: "server/src/app/mcp-app.ts",
    find: '"search-run": call.run,',
    replace: "",
    tests,
    caughtBy: "runs and cancellations of other credentials have no effect",
  },
  {
    id: "tokens-for-other-services",
    description: "tokens for other services are accepted",
    file: verifier,
    find: "      audience: resource,\n",
    replace: "",
    tests: oauthTests,
    caughtBy: hostileTokens,
  },
  {
    id: "tokens-of-any-issuer",
    description: "tokens of every issuer are accepted",
    file: verifier,
    find: "      issuer,\n",
    replace: "",
    tests: oauthTests,
    caughtBy: hostileTokens,
  },
  {
    id: "tokens-without-expiry",
    description: "tokens without expiry are accepted",
    file: verifier,
    find: 'requiredClaims: ["exp", "sub"]',
    replace: 'requiredClaims: ["sub"]',
    tests: oauthTests,
    caughtBy: hostileTokens,
  },
  {
    id: "id-tokens-accepted",
    description: "ID tokens are accepted",
    file: verifier,
    find: "  if (!isAccessToken(protectedHeader.typ, payload))",
    replace: "  if (protectedHeader.typ === payload)",
    tests: oauthTests,
    caughtBy: hostileTokens,
  },
  {
    id: "former-member-apps-spend",
    description: "the apps of a former member can still spend",
    file: "server/sql/triggers.sql",
    find: "after delete on pb.members\n  for each row execute function pb.delete_member_apps()",
    replace: "after delete on pb.members\n  for each row when (false) execute function pb.delete_member_apps()",
    tests: oauthTests,
    caughtBy: "a person who leaves the account or becomes a viewer loses their apps",
  },
  {
    id: "previous-subject-stays-connected",
    description: "the apps of a previous subject stay connected",
    file: "server/sql/apps.sql",
    find: "if replaced is not null then",
    replace: "if false then",
    tests: oauthTests,
    caughtBy: "a new subject with the same address does not take over the apps of the previous one",
  },
  {
    id: "rejected-app-without-sign-in-url",
    description: "a rejected app does not learn where to sign in",
    file: "server/src/app/mcp-app.ts",
    find: "    oauth?.addMetadata(error);\n",
    replace: "",
    tests: oauthTests,
    caughtBy: "the metadata names the resource and the provider, and requests without credentials are sent there",
  },
];
