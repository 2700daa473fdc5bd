import type { ProblemRow } from "./problem-row.ts";

/** The rows of problems.ts that only the console meets: what a person in a browser is refused, never a key. */
export const consoleProblems = {
  link_not_valid: {
    status: 400,
    title: "The link does not work any more",
    retryable: false,
    detail: "This link is unknown, was used before or is too old. Nothing was changed. Ask for a new one.",
    page: "Links to sign in work once, for 15 minutes; invitations work once, for 7 days. We do not say which of these is the case.",
  },
  session_required: {
    status: 401,
    title: "Nobody is signed in",
    retryable: false,
    detail: "Your session is over or was ended. Nothing was changed. Sign in again.",
    page: "The console was asked for something without a session that lives. A session ends after 30 days, after 7 days without a visit, and when its person signs out.",
    headers: { "www-authenticate": 'Cookie realm="console"' },
  },
  csrf_refused: {
    status: 403,
    title: "The request did not come from the console",
    retryable: false,
    detail: "Only the console's own pages may change something here. Nothing was changed. Programs use an API key.",
    page: "A change under /console/api carries `x-pennyblack-csrf: 1`, and the `Origin` that the browser names is the console's own. Seen by a person in the console, the operator's PENNYBLACK_PUBLIC_URL is not the address in the browser.",
  },
  insufficient_role: {
    status: 403,
    title: "Your role does not allow this",
    retryable: false,
    detail: "Your role in this account does not allow this. Nothing was changed. Ask an owner of the account.",
    page: "Viewers read and try test keys, developers do keys, money, alerts and webhooks, owners also the team.",
  },
  reauthentication_required: {
    status: 403,
    title: "Sign in again for this",
    retryable: false,
    detail: "This needs a sign-in of the last 15 minutes. Nothing was changed. Sign in again and repeat it.",
    page: "What makes credentials or moves trust (keys, receivers of webhooks, the team, automatic top-ups) needs a fresh sign-in, so that a session left open or stolen cannot do it.",
  },
  sign_up_closed: {
    status: 403,
    title: "No account can be opened here",
    retryable: false,
    detail:
      "This installation opens no accounts by itself. Nothing was changed. Ask the operator or an account's owner.",
    page: "For operators: PENNYBLACK_SIGN_UP=open lets whoever signs in open an account; `npm run admin -- account create` makes one for somebody. A person owns at most ten.",
  },
  last_owner: {
    status: 409,
    title: "An account keeps an owner",
    retryable: false,
    detail: "This is the last owner of the account. Nothing was changed. Make someone else an owner first.",
    page: "Somebody must be able to manage the team. The last owner can neither leave nor take another role.",
  },
} as const satisfies Record<string, ProblemRow>;
