import { type Mistake, manage, request, search, unknownId } from "./mistake.ts";

// Methods, paths, ids and headers.

export const pathAndHeaderMistakes: Mistake[] = [
  [
    "GET instead of POST",
    request("GET", "/v1/search?query=cats"),
    "405 method_not_allowed",
    "This path does not support GET. Use `POST`.",
  ],
  [
    "a misspelt path",
    request("POST", "/v1/serach"),
    "404 not_found",
    "Nothing exists at this path. Did you mean `POST /v1/search`?",
  ],
  [
    "a path without the version",
    request("POST", "/search"),
    "404 not_found",
    "Nothing exists at this path. Did you mean `POST /v1/search`?",
  ],
  [
    "the version twice",
    request("POST", "/v1/v1/search"),
    "404 not_found",
    "Nothing exists at this path. Did you mean `POST /v1/search`?",
  ],
  [
    "a trailing slash",
    request("POST", "/v1/search/"),
    "404 not_found",
    "Nothing exists at this path. Did you mean `POST /v1/search`?",
  ],
  [
    "a path in capitals",
    request("POST", "/V1/Search"),
    "404 not_found",
    "Nothing exists at this path. Did you mean `POST /v1/search`?",
  ],
  [
    "an unknown path",
    request("GET", "/v1/images"),
    "404 not_found",
    "Nothing exists at this path. To search, send `POST /v1/search`. Paths are lower-case and have no trailing slash.",
  ],
  [
    "PUT instead of PATCH",
    manage("PUT", `/v1/keys/${unknownId}`, { name: "x" }),
    "405 method_not_allowed",
    "This path does not support PUT. Use `GET`, `PATCH` or `DELETE`.",
  ],
  [
    "an id that is not one",
    manage("GET", "/v1/keys/my-key"),
    "404 not_found",
    "This wallet has no key with this id: ids are UUIDs with 36 characters. No changes were made. Find the id with `GET /v1/keys`.",
  ],
  [
    "an unknown id",
    manage("DELETE", `/v1/webhooks/${unknownId}`),
    "404 not_found",
    "This wallet has no webhook endpoint with this id. No changes were made. Find the id with `GET /v1/webhooks`.",
  ],
  [
    "an unknown lens",
    request("GET", "/v1/lenses/goverment"),
    "404 not_found",
    "No lens has this name. Did you mean `gov`?",
  ],

  [
    "Rank-Explain: yes",
    search({ query: "cats" }, { "rank-explain": "yes" }),
    "400 invalid_request",
    "`Rank-Explain` must be one of `1`, `true`, `0` or `false`, but is `yes`.",
    [["#", "invalid_header", "`Rank-Explain` must be one of `1`, `true`, `0` or `false`, but is `yes`"]],
  ],
  [
    "a run without a budget",
    search({ query: "cats" }, { "search-run": "nightly" }),
    "400 invalid_request",
    "`Search-Run` must have a `max`, the budget in USD, as in `my-run; max=0.50`.",
    [["#", "invalid_header", "`Search-Run` must have a `max`, the budget in USD, as in `my-run; max=0.50`"]],
  ],
  [
    "a run's budget below the price",
    search({ query: "cats" }, { "search-run": "nightly; max=0.001" }),
    "400 invalid_request",
    "`Search-Run` must have a `max` of at least 0.01 USD, the price of a search, but it is 0.001.",
    [
      [
        "#",
        "invalid_header",
        "`Search-Run` must have a `max` of at least 0.01 USD, the price of a search, but it is 0.001",
      ],
    ],
  ],
  [
    "a run's budget in dollars",
    search({ query: "cats" }, { "search-run": "nightly; max=$5" }),
    "400 invalid_request",
    "`Search-Run` must have an amount in USD such as `0.50` as `max`, but it is `$5`.",
    [["#", "invalid_header", "`Search-Run` must have an amount in USD such as `0.50` as `max`, but it is `$5`"]],
  ],
  [
    "a misspelt parameter of a run",
    search({ query: "cats" }, { "search-run": "nightly; maxx=0.50; ttl=1h" }),
    "400 invalid_request",
    "`Search-Run` has an unknown parameter (did you mean `max`?); `Search-Run` must have a `max`, the budget in USD, as in `my-run; max=0.50`; `Search-Run` must have an integer number of seconds from 1 to 2,592,000 (30 days) as `ttl`, but it is `1h`.",
    [
      ["#", "invalid_header", "`Search-Run` has an unknown parameter (did you mean `max`?)"],
      ["#", "invalid_header", "`Search-Run` must have a `max`, the budget in USD, as in `my-run; max=0.50`"],
      [
        "#",
        "invalid_header",
        "`Search-Run` must have an integer number of seconds from 1 to 2,592,000 (30 days) as `ttl`, but it is `1h`",
      ],
    ],
  ],
  [
    "a run's name with spaces",
    search({ query: "cats" }, { "search-run": "nightly report; max=0.50" }),
    "400 invalid_request",
    "`Search-Run` must start with a name of 1 to 128 letters, digits or any of `_.:@/-`, but the name has 14 characters.",
    [
      [
        "#",
        "invalid_header",
        "`Search-Run` must start with a name of 1 to 128 letters, digits or any of `_.:@/-`, but the name has 14 characters",
      ],
    ],
  ],
  [
    "a long Idempotency-Key",
    search({ query: "cats" }, { "idempotency-key": "x".repeat(300) }),
    "400 invalid_request",
    "`Idempotency-Key` must have 1 to 255 printable ASCII characters, but has 300 characters.",
    [
      [
        "#",
        "invalid_header",
        "`Idempotency-Key` must have 1 to 255 printable ASCII characters, but has 300 characters",
      ],
    ],
  ],
  [
    "a short Prefer: wait",
    search({ query: "test:slow=5000" }, { prefer: "wait=1" }),
    "504 upstream_timeout",
    "The search did not finish within 1 second, the deadline you set with `Prefer: wait=1`. You were not charged. Retry with a longer wait or without `Prefer`, and do not answer from memory.",
  ],
];
