import type { ProblemRow } from "./problem-row.ts";

/** The problems that only the console returns, to a person in a browser and never to an API key. */
export const consoleProblems = {
  link_not_valid: {
    status: 400,
    title: "Link invalid or expired",
    detail: "This link is invalid, has expired or was already used. No changes were made. Request a new one.",
    cause:
      "A sign-in link works once, within 15 minutes. An invitation works once, within 7 days. The response does not reveal which check failed.",
    fix: "Request a new link, or ask for a new invitation.",
  },
  session_required: {
    status: 401,
    title: "Sign-in required",
    detail: "You are not signed in, or your session has ended. No changes were made. Sign in again.",
    cause:
      "The request has no valid console session. A session ends after 30 days, after 7 days without activity, or when you sign out.",
    fix: "Sign in again.",
    headers: { "www-authenticate": 'Cookie realm="console"' },
  },
  csrf_refused: {
    status: 403,
    title: "Cross-site request rejected",
    detail: "Only the console's own pages can make changes here. No changes were made. From a program, use an API key.",
    cause: "A change under /console/api must carry `x-pennyblack-csrf: 1`, and its `Origin` must be the console's own.",
    fix: "From a program, use an API key. If you see this in the console itself, the operator's PENNYBLACK_PUBLIC_URL differs from the address in the browser.",
  },
  insufficient_role: {
    status: 403,
    title: "Insufficient role",
    detail: "Your role in this account does not allow this. No changes were made. Ask an owner of the account.",
    cause:
      "Viewers can read everything and use test keys. Developers can also manage keys, payments, alerts and webhooks. Owners can also manage the team.",
    fix: "Ask an owner of the account to make the change or to give you another role.",
  },
  reauthentication_required: {
    status: 403,
    title: "Recent sign-in required",
    detail: "This requires a sign-in within the last 15 minutes. No changes were made. Sign in again and retry.",
    cause:
      "Creating or rotating keys, creating or changing webhook endpoints, allowing connected apps, approving a higher budget, and changing the team or automatic top-ups require a sign-in within the last 15 minutes, so that an unattended or stolen session cannot do so.",
    fix: "Sign in again and retry.",
  },
  sign_up_closed: {
    status: 403,
    title: "Sign-up closed",
    detail: "You cannot create an account here. No changes were made. Ask the operator, or the owner of an account.",
    cause: "The operator restricts the creation of accounts, or you already own ten, which is the maximum.",
    fix: "Ask the operator for an account, or the owner of an account for an invitation. For operators: with PENNYBLACK_SIGN_UP=open, anyone who signs in can create an account. Otherwise, create one with `npm run admin -- account create`.",
  },
  last_owner: {
    status: 409,
    title: "Last account owner",
    detail: "This is the last owner of the account. No changes were made. Make someone else an owner first.",
    cause: "An account needs an owner to manage its team. The last owner cannot leave or change to another role.",
    fix: "Make someone else an owner first.",
  },
} as const satisfies Record<string, ProblemRow>;
