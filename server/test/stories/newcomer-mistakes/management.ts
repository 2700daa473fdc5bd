import { listWords } from "../../../src/http/input/faults.ts";
import { eventTypes } from "../../../src/webhooks/event-types.ts";
import { type Mistake, manage, unknownId } from "./mistake.ts";

// Bodies and query parameters of the management routes, an empty wallet, and settings that the operator has not made.

const unknownEvent = `must be one of ${listWords(eventTypes)} (did you mean \`wallet.low_balance\`?)`;

export const managementMistakes: Mistake[] = [
  [
    "an empty key",
    manage("POST", "/v1/keys", {}),
    "400 invalid_request",
    "`mode` is required; `name` is required.",
    [
      ["#/mode", "required", "is required"],
      ["#/name", "required", "is required"],
    ],
  ],
  [
    "an unknown mode",
    manage("POST", "/v1/keys", { mode: "tset", name: "ci" }),
    "400 invalid_request",
    "`mode` must be one of `live`, `test` or `mgmt` (did you mean `test`?).",
    [["#/mode", "unknown_value", "must be one of `live`, `test` or `mgmt` (did you mean `test`?)"]],
  ],
  [
    "camel case",
    manage("POST", "/v1/keys", { mode: "live", name: "ci", expiresAt: "2030-01-01" }),
    "400 invalid_request",
    "`expiresAt` is not a known field (did you mean `expires_at`?).",
    [["#/expiresAt", "unknown_field", "is not a known field (did you mean `expires_at`?)"]],
  ],
  [
    "an amount without quotes",
    manage("POST", "/v1/keys", { mode: "live", name: "ci", budget: { day: 5 } }),
    "400 invalid_request",
    '`budget.day` must be an amount in USD as a string, such as "5.00", or null, but is 5; put it in quotes.',
    [
      [
        "#/budget/day",
        "wrong_type",
        'must be an amount in USD as a string, such as "5.00", or null, but is 5; put it in quotes',
      ],
    ],
  ],
  [
    "an amount with a currency",
    manage("POST", "/v1/keys", { mode: "live", name: "ci", budget: { day: "$5" } }),
    "400 invalid_request",
    '`budget.day` must be an amount in USD as a string, such as "5.00", but is `$5`.',
    [["#/budget/day", "invalid", 'must be an amount in USD as a string, such as "5.00", but is `$5`']],
  ],
  [
    "a date without a time",
    manage("POST", "/v1/keys", { mode: "live", name: "ci", expires_at: "2030-01-31" }),
    "400 invalid_request",
    "`expires_at` must be a time in the future with its zone, such as `2030-01-31T12:00:00Z`, but is the date `2030-01-31` without a time; append `T00:00:00Z` for midnight UTC.",
    [
      [
        "#/expires_at",
        "invalid",
        "must be a time in the future with its zone, such as `2030-01-31T12:00:00Z`, but is the date `2030-01-31` without a time; append `T00:00:00Z` for midnight UTC",
      ],
    ],
  ],
  [
    "a time without a zone",
    manage("GET", "/v1/wallet/entries?from=2030-01-31T12:00"),
    "400 invalid_request",
    "The query parameter `from` must be a day such as `2030-01-31` or a time such as `2030-01-31T12:00:00Z`, but is `2030-01-31T12:00` without a zone; append `Z` for UTC.",
    [
      [
        "#/from",
        "invalid_parameter",
        "must be a day such as `2030-01-31` or a time such as `2030-01-31T12:00:00Z`, but is `2030-01-31T12:00` without a zone; append `Z` for UTC",
      ],
    ],
  ],
  [
    "a date in the past",
    manage("POST", "/v1/keys", { mode: "live", name: "ci", expires_at: "2020-01-01T00:00:00Z" }),
    "400 invalid_request",
    "`expires_at` must be a time in the future with its zone, such as `2030-01-31T12:00:00Z`, but is in the past.",
    [
      [
        "#/expires_at",
        "invalid",
        "must be a time in the future with its zone, such as `2030-01-31T12:00:00Z`, but is in the past",
      ],
    ],
  ],
  [
    "a misspelt scope",
    manage("POST", "/v1/keys", { mode: "mgmt", name: "ci", scopes: ["wallet.read", "admin"] }),
    "400 invalid_request",
    "`scopes[0]` must be one of `search`, `wallet:read`, `wallet:write`, `keys:read`, `keys:write`, `webhooks:write`, `activity:read` or `budgets:request` (did you mean `wallet:read`?); `scopes[1]` must be one of `search`, `wallet:read`, `wallet:write`, `keys:read`, `keys:write`, `webhooks:write`, `activity:read` or `budgets:request`, but is `admin`.",
    [
      [
        "#/scopes/0",
        "unknown_value",
        "must be one of `search`, `wallet:read`, `wallet:write`, `keys:read`, `keys:write`, `webhooks:write`, `activity:read` or `budgets:request` (did you mean `wallet:read`?)",
      ],
      [
        "#/scopes/1",
        "unknown_value",
        "must be one of `search`, `wallet:read`, `wallet:write`, `keys:read`, `keys:write`, `webhooks:write`, `activity:read` or `budgets:request`, but is `admin`",
      ],
    ],
  ],
  [
    "a scope of another mode",
    manage("POST", "/v1/keys", { mode: "live", name: "ci", scopes: ["keys:read"] }),
    "400 invalid_request",
    "`scopes` must not contain `keys:read`; a live key can have `search`, `wallet:read` and `budgets:request`.",
    [
      [
        "#/scopes",
        "invalid",
        "must not contain `keys:read`; a live key can have `search`, `wallet:read` and `budgets:request`",
      ],
    ],
  ],
  [
    "a name that is too long",
    manage("POST", "/v1/keys", { mode: "live", name: "x".repeat(101) }),
    "400 invalid_request",
    "`name` must have 1 to 100 characters, but has 101.",
    [["#/name", "too_long", "must have 1 to 100 characters, but has 101"]],
  ],
  [
    "a change without a field",
    manage("PATCH", `/v1/keys/${unknownId}`, {}),
    "400 invalid_request",
    "The body must have at least one of the fields `name`, `allowed_ips`, `expires_at`, `searches_per_second`, `searches_in_flight`, `budget`, `end_user_limit`, `budgets`, `compat`, `sources`, `max_run` and `external_id`.",
    [
      [
        "#",
        "required",
        "must have at least one of the fields `name`, `allowed_ips`, `expires_at`, `searches_per_second`, `searches_in_flight`, `budget`, `end_user_limit`, `budgets`, `compat`, `sources`, `max_run` and `external_id`",
      ],
    ],
  ],
  [
    "a grace period in words",
    manage("POST", `/v1/keys/${unknownId}/rotate`, { grace_seconds: "1h" }),
    "400 invalid_request",
    "`grace_seconds` must be an integer from 0 to 2,592,000, but is the string `1h`.",
    [["#/grace_seconds", "wrong_type", "must be an integer from 0 to 2,592,000, but is the string `1h`"]],
  ],
  [
    "a webhook over http",
    manage("POST", "/v1/webhooks", { url: "http://example.org/hook" }),
    "400 invalid_request",
    "`url` must start with `https://`.",
    [["#/url", "invalid", "must start with `https://`"]],
  ],
  [
    "an unknown event",
    manage("POST", "/v1/webhooks", { url: "https://example.org/", events: ["wallet.lowbalance"] }),
    "400 invalid_request",
    `\`events[0]\` ${unknownEvent}.`,
    [["#/events/0", "unknown_value", unknownEvent]],
  ],
  [
    "a flag in quotes",
    manage("PATCH", `/v1/webhooks/${unknownId}`, { enabled: "true" }),
    "400 invalid_request",
    "`enabled` must be `true` or `false`, but is the string `true`; remove the quotes.",
    [["#/enabled", "wrong_type", "must be `true` or `false`, but is the string `true`; remove the quotes"]],
  ],
  [
    "an invalid alert",
    manage("PUT", "/v1/wallet/alerts", { email: "ada", low_balance: "0" }),
    "400 invalid_request",
    "`email` must be one email address such as `ada@example.org`, or null; `low_balance` must be more than 0.00 USD, but is 0.00; send null for no alert.",
    [
      ["#/email", "invalid", "must be one email address such as `ada@example.org`, or null"],
      ["#/low_balance", "out_of_range", "must be more than 0.00 USD, but is 0.00; send null for no alert"],
    ],
  ],
  [
    "a page size out of range",
    manage("GET", "/v1/keys?limit=500&page=2"),
    "400 invalid_request",
    "The query parameter `page` is not a known parameter; the parameters are `cursor` and `limit`; the query parameter `limit` must be an integer from 1 to 100, but is 500.",
    [
      ["#/page", "invalid_parameter", "is not a known parameter; the parameters are `cursor` and `limit`"],
      ["#/limit", "invalid_parameter", "must be an integer from 1 to 100, but is 500"],
    ],
  ],
  [
    "a misspelt parameter",
    manage("GET", "/v1/wallet/entries?form=2030-01-01&kind=topup"),
    "400 invalid_request",
    "The query parameter `form` is not a known parameter (did you mean `from`?); the query parameter `kind` must be one of `search`, `refund`, `top_up`, `credit`, `reversal`, `reinstatement`, `settlement`, `correction`, `payout`, `breakage`, `transfer_out` or `transfer_in` (did you mean `top_up`?).",
    [
      ["#/form", "invalid_parameter", "is not a known parameter (did you mean `from`?)"],
      [
        "#/kind",
        "invalid_parameter",
        "must be one of `search`, `refund`, `top_up`, `credit`, `reversal`, `reinstatement`, `settlement`, `correction`, `payout`, `breakage`, `transfer_out` or `transfer_in` (did you mean `top_up`?)",
      ],
    ],
  ],
  [
    "a relative date",
    manage("GET", "/v1/wallet/entries?from=yesterday&limit=ten"),
    "400 invalid_request",
    "The query parameter `limit` must be an integer from 1 to 100, but is `ten`; the query parameter `from` must be a day such as `2030-01-31` or a time such as `2030-01-31T12:00:00Z`, but is `yesterday`.",
    [
      ["#/limit", "invalid_parameter", "must be an integer from 1 to 100, but is `ten`"],
      [
        "#/from",
        "invalid_parameter",
        "must be a day such as `2030-01-31` or a time such as `2030-01-31T12:00:00Z`, but is `yesterday`",
      ],
    ],
  ],
  [
    "an unknown period",
    manage("GET", "/v1/usage?by=days&group=keys"),
    "400 invalid_request",
    "The query parameter `by` must be `hour` or `day` (did you mean `day`?); the query parameter `group` must be a comma-separated list of `key`, `category`, `outcome` and `end_user`, each at most once (did you mean `key`?).",
    [
      ["#/by", "invalid_parameter", "must be `hour` or `day` (did you mean `day`?)"],
      [
        "#/group",
        "invalid_parameter",
        "must be a comma-separated list of `key`, `category`, `outcome` and `end_user`, each at most once (did you mean `key`?)",
      ],
    ],
  ],
  [
    "a parameter twice",
    manage("GET", "/v1/searches?mode=live&mode=test"),
    "400 invalid_request",
    "The query parameter `mode` must be sent once, but was sent 2 times.",
    [["#/mode", "invalid_parameter", "must be sent once, but was sent 2 times"]],
  ],
  [
    "a cursor of one's own",
    manage("GET", "/v1/keys?cursor=2"),
    "400 invalid_request",
    "The query parameter `cursor` must be the `next_cursor` of an earlier page of this list.",
    [["#/cursor", "invalid_parameter", "must be the `next_cursor` of an earlier page of this list"]],
  ],

  [
    "no money",
    ({ server, poor }) => server.search(poor, { query: "cats" }),
    "402 insufficient_balance",
    "The wallet balance (0.00 USD) is below the price of a search (0.01 USD). You were not charged. Top up at http://search.test/console/top-up and retry.",
  ],
  [
    "payments that the operator has not set up",
    manage("POST", "/v1/wallet/top-ups", { amount: "20.00" }),
    "503 payments_not_configured",
    "The operator has not configured payments. Ask the operator to add money to the wallet.",
  ],
  [
    "receipts that the operator has not set up",
    manage("GET", `/v1/searches/${unknownId}/receipt`),
    "503 receipts_not_configured",
    "The operator has not configured a signing key for receipts. Ask the operator to configure one.",
  ],
  [
    "an unknown path of the internal listener",
    ({ server }) => server.request("/metric", {}, server.opsUrl),
    "404 not_found",
    "Nothing exists at this path. Did you mean `GET /metrics`?",
  ],
];
