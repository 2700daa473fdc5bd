/** Response headers in openapi.json and the reference. */
export const responseHeaders = {
  "Request-Id": "Identifies this request, its hold and its charge.",
  "Wallet-Charge": "The amount charged for this request: `0.01;currency=usd` or `0.00;currency=usd`.",
  "Wallet-Balance": "The wallet balance after this request. Only for keys with the `wallet:read` scope.",
  "Search-Run":
    "If the request names a run: how much the run has spent and how much is left, in USD, as `nightly; spent=0.02; left=0.48`. Also on errors after the hold.",
  "Key-Budget":
    "If the key has a budget: for each limit, how much is spent and how much is left, in USD, and the seconds until it resets, as `day; spent=0.02; left=0.98; resets=41213, total; spent=0.02; left=4.98`. A shared budget has its id in `budget`. Also on errors after the hold.",
  "End-User-Budget":
    "If the key has an `end_user_limit` or names a budget per end user: how much of the limit of the end user in `Search-For` is spent and how much is left, in USD, and the seconds until it resets, as `spent=0.02; left=0.08; resets=41213`. With several, the one with the least left. Also on errors after the hold.",
  "RateLimit-Policy":
    'The rate limit with the fewest requests left: `"key";q=1000;w=1` is 1,000 requests per second for the key. Other names are `wallet` and `test`, the test keys of a wallet.',
  RateLimit: 'The remaining requests and the seconds until reset: `"key";r=997;t=1`.',
  "Retry-After": "The number of seconds to wait before a retry, if a retry can succeed.",
  "Server-Timing": "Duration of the steps auth, hold, upstream and capture, in milliseconds.",
  "Search-Upstreams": "Number of upstreams queried. 0 if all are known to fail.",
  "Search-Filtered":
    "Number of results that `sources` of the key, or the domain filters of a compatibility endpoint, removed. Absent without either.",
  "Rank-Lens": "The lens that ranked the results, as `name@version`. See `/v1/lenses`.",
  "Rank-Explain": "If requested: each result's position at the upstream, tier, reason and score. At most 4 kB.",
  "Preference-Applied": "`wait=2` if the `Prefer` header set the timeout.",
  "Idempotent-Replayed": "`true` if this is the stored answer of an earlier request. It is not charged again.",
} as const;

export type ResponseHeader = keyof typeof responseHeaders;
