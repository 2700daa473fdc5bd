import { Problem, type ProblemOptions } from "./problems.ts";

// The member `exceeded` of a 429 or 503 names the limit that was reached. The names are also the labels of a metric, so
// the list is closed.

export const limitNames = [
  // Per second, and in flight, of one key or wallet, counted across all servers.
  "key_rate",
  "key_in_flight",
  "wallet_rate",
  "wallet_in_flight",
  "wallet_test_rate",
  "wallet_test_requests",
  "wallet_test_in_flight",
  "wallet_test_end_users",
  "wallet_management_rate",
  "wallet_management_in_flight",
  "wallet_unpaid_calls",
  "wallet_requested_deliveries",
  // Of one IP address or IPv6 network.
  "network_rate",
  "network_in_flight",
  "network_invalid_keys",
  "network_sign_ins",
  "mailbox_emails",
  "person_emails",
  "account_invitations",
  // Slots of one server: a wallet's or a network's share, and all of them.
  "wallet_share",
  "network_share",
  "server_in_flight",
  "server_test_in_flight",
  "server_look_ups",
  "server_public_in_flight",
  "server_webhooks_in_flight",
  "ledger_queue",
] as const;

export type LimitName = (typeof limitNames)[number];

export interface ExceededLimit {
  limit: LimitName;
  max: number;
  /** For a rate. */
  windowSeconds?: number;
  retryAfterSeconds: number;
}

/** A 429 or 503 whose `exceeded` member and detail name the limit. */
export function limitProblem(
  code: "rate_limited" | "concurrency_limited" | "unpaid_calls_limited" | "overloaded",
  { limit, max, windowSeconds, retryAfterSeconds }: ExceededLimit,
  options: ProblemOptions = {},
): Problem {
  return new Problem(code, {
    ...options,
    retryAfterSeconds,
    values: { subject: subjects[limit], max },
    members: {
      exceeded: {
        limit,
        applies_to: limit.split("_", 1)[0],
        max,
        ...(windowSeconds !== undefined && { window_seconds: windowSeconds }),
        retry_after_seconds: retryAfterSeconds,
      },
    },
  });
}

/** The limit that a problem names, if any. */
export function exceededLimitOf({ members }: Problem): LimitName | undefined {
  const { exceeded } = members as { exceeded?: { limit: LimitName } };
  return exceeded?.limit;
}

/** Completes "The limit of 20 requests per second for ... was exceeded" and the like. */
const subjects: Record<LimitName, string> = {
  key_rate: "this key",
  key_in_flight: "this key",
  wallet_rate: "this wallet",
  wallet_in_flight: "this wallet",
  wallet_test_rate: "test keys of this wallet",
  wallet_test_requests: "test keys of this wallet, including invalid requests,",
  wallet_test_in_flight: "test keys of this wallet",
  wallet_test_end_users: "test keys of this wallet",
  wallet_management_rate: "management of this wallet",
  wallet_management_in_flight: "management of this wallet",
  wallet_unpaid_calls: "this wallet",
  wallet_requested_deliveries: "this wallet",
  network_rate: "your network",
  network_in_flight: "your network",
  network_invalid_keys: "your network",
  network_sign_ins: "your network",
  mailbox_emails: "this mailbox",
  person_emails: "you",
  account_invitations: "this account",
  wallet_share: "this wallet on one server",
  network_share: "your network on one server",
  server_in_flight: "all wallets on one server",
  server_test_in_flight: "all test keys on one server",
  server_look_ups: "look-ups of unknown keys on one server",
  server_public_in_flight: "requests without a key on one server",
  server_webhooks_in_flight: "payment webhooks on one server",
  ledger_queue: "searches waiting for the ledger",
};
