import type { LimitName } from "../problems/exceeded-limit.ts";

/** A name of a limit can be in several rows. */
type Row = [limit: LimitName, appliesTo: string, value: number | string];

export interface LimitValues {
  searchesOfKey: number;
  walletRate: number;
  walletInFlight: number;
  walletTestRate: number;
  walletTestRequests: number;
  walletTestInFlight: number;
  testEndUsersPerDay: number;
  management: { searchesPerSecond: number; searchesInFlight: number };
  network: { searchesPerSecond: number; searchesInFlight: number };
  walletShare: number;
  unpaidCalls: { burst: number; perMinute: number };
  deliveriesPerMinute: number;
  invalidKeysPerMinute: number;
  waitingHolds: number;
  /** Per 15 minutes. */
  signIn: { attempts: number; emailsFromNetwork: number; emailsTo: number; invitations: number };
  openInvitations: number;
  /** Parts of the slots of a server. */
  pools: { tests: number; lookUps: number; public: number; webhooks: number };
}

/** The tables of docs/rate-limits.md: of requests, of sign-in, and of a server's slots. */
export function renderLimits(values: LimitValues): Record<"requests" | "signIn" | "slots", string> {
  return {
    requests: table(["Limit", "Applies to", "Value"], requestRows(values)),
    signIn: table(["Limit", "Applies to", "Value"], signInRows(values)),
    slots: table(["Limit", "Pool", "Size"], slotRows(values)),
  };
}

function requestRows(values: LimitValues): Row[] {
  const { management, network, unpaidCalls } = values;
  return [
    ["key_rate", "Searches per second of one key", values.searchesOfKey],
    ["key_in_flight", "Searches in flight of one key", values.searchesOfKey],
    ["wallet_rate", "Searches per second of all live keys of a wallet", values.walletRate],
    ["wallet_in_flight", "Searches in flight of all live keys of a wallet", values.walletInFlight],
    ["wallet_test_rate", "Searches per second of all test keys of a wallet", values.walletTestRate],
    [
      "wallet_test_requests",
      "Requests per second of all test keys, including invalid ones (400), which the limit above does not count",
      values.walletTestRequests,
    ],
    ["wallet_test_in_flight", "Searches in flight of all test keys of a wallet", values.walletTestInFlight],
    [
      "wallet_test_end_users",
      "[End users](budgets.md#end-users) that the test keys of a wallet name per day (UTC)",
      values.testEndUsersPerDay,
    ],
    ["wallet_management_rate", "Management requests per second of a wallet", management.searchesPerSecond],
    ["wallet_management_in_flight", "Management requests in flight of a wallet", management.searchesInFlight],
    ["wallet_share", "Requests in flight of a wallet on one server", `${percent(values.walletShare)} of its slots`],
    [
      "wallet_unpaid_calls",
      "Upstream calls of searches that you abandon, that reach your `Prefer: wait` timeout, or whose response is invalid or too large",
      `${unpaidCalls.burst}, then ${unpaidCalls.perMinute} per minute`,
    ],
    [
      "wallet_requested_deliveries",
      "Test events and replays of webhooks per minute of a wallet",
      values.deliveriesPerMinute,
    ],
    ["network_rate", "Requests of the console per second from one IP address", network.searchesPerSecond],
    ["network_in_flight", "Requests of the console in flight from one IP address", network.searchesInFlight],
    ["network_invalid_keys", "Invalid keys per minute from one IP address", values.invalidKeysPerMinute],
    ["ledger_queue", "Searches on one server that wait for the database", values.waitingHolds],
  ];
}

function signInRows({ signIn, openInvitations }: LimitValues): Row[] {
  return [
    ["network_sign_ins", "Sign-in attempts from one network", signIn.attempts],
    ["mailbox_emails", "Links, and invitations, from one network to one mailbox", `${signIn.emailsFromNetwork} each`],
    ["mailbox_emails", "Links to one address. The newest of them still works", signIn.emailsTo],
    ["mailbox_emails", "Invitations to one mailbox", signIn.emailsTo],
    ["person_emails", "Invitations by one person", signIn.invitations],
    ["account_invitations", "Open invitations of one account, at any time", openInvitations],
  ];
}

function slotRows({ pools }: LimitValues): Row[] {
  return [
    ["server_in_flight", "Requests with a valid key, or with a session", percent(1)],
    ["server_test_in_flight", "Searches with test keys", percent(pools.tests)],
    [
      "server_look_ups",
      "Database look-ups of keys that have not worked on this server within the last hour",
      percent(pools.lookUps),
    ],
    [
      "server_public_in_flight",
      "Pages, sign-in, and console requests until the session is known, except while a body is received",
      percent(pools.public),
    ],
    [
      "server_webhooks_in_flight",
      "Payment webhooks above 16 KiB with a well-formed, recent signature header",
      percent(pools.webhooks),
    ],
  ];
}

function table(head: [string, string, string], rows: Row[]): string {
  const lines = rows.map(
    ([limit, text, value]) =>
      `| \`${limit}\` | ${text} | ${typeof value === "number" ? value.toLocaleString("en-US") : value} |`,
  );
  return [`| ${head.join(" | ")} |`, "|---|---|---|", ...lines].join("\n");
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}
