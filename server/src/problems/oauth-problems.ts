import type { ProblemRow } from "./problem-row.ts";

/** The problems that only `/mcp` returns, to an app that authenticates with an access token. */
export const oauthProblems = {
  access_token_invalid: {
    status: 401,
    title: "Invalid access token",
    detail: "{fault}. You were not charged. Sign in again from the app.",
    values: { fault: "The access token has expired" },
    cause:
      "The token must be a JWT of the operator's OpenID Connect provider, signed with an asymmetric key, unexpired, issued for this server's `/mcp` URL (`aud`), and name the person (`sub`) and the client (`client_id` or `azp`). An app that was disconnected in the console is rejected with any token.",
    fix: "Sign in again from the app. If you disconnected it, allow it again in the console. For operators: `detail` names the check that failed, and docs/mcp.md describes the requirements.",
    headers: { "www-authenticate": 'Bearer realm="search", error="invalid_token"' },
  },
  app_not_connected: {
    status: 403,
    title: "App not connected",
    detail:
      "{fault}. You were not charged. Open `connect_url` to choose the wallet that apps spend from, then try again.",
    members: { connect_url: "https://pennyblack.example/console/apps" },
    values: { fault: "You have not turned on connected apps for a wallet" },
    cause: "You signed in to an app, but no wallet pays for its searches yet.",
    fix: "Open the console with the same sign-in, choose a wallet on the page **Apps**, and turn on connected apps. Your apps share a daily budget. Only owners and developers of an account can do this.",
  },
  identity_provider_unavailable: {
    status: 503,
    title: "Identity provider unavailable",
    retryable: true,
    detail:
      "The access token could not be checked, because the identity provider is unavailable. You were not charged. Retry after the number of seconds in `Retry-After`.",
    cause:
      "To check an access token, the server needs the signing keys of the operator's OpenID Connect provider, but it cannot fetch them.",
    fix: "Retry after the number of seconds in `Retry-After`. API keys still work.",
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemRow>;
