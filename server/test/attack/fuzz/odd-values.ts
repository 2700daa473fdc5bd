import fc, { type Arbitrary } from "fast-check";

// Parts of requests that regular clients never or rarely send.

/** One value per word or line. */
const words = (text: string): Arbitrary<string> => fc.constantFrom(...text.trim().split(/\s+/));
const lines = (text: string): Arbitrary<string> =>
  fc.constantFrom(
    ...text
      .split("\n")
      .map((line) => line.trim().replaceAll("\\0", "\0"))
      .filter(Boolean),
  );

export const oddMethods = words(
  "GET POST PUT PATCH DELETE HEAD OPTIONS TRACE PROPFIND QUERY SEARCH M-SEARCH PURGE LOCK get FOO",
);

export const oddIds = fc.oneof(
  words(`{{otherKeyId}} {{requestId}} {{keyId}}%00 00000000-0000-0000-0000-000000000000 x %00 %zz .. %2e%2e%2f null -1
    1e9 %F0%9F%98%80 %ff`),
  fc.constantFrom("", "a".repeat(101)),
  fc.uuid(),
);

export const oddWallets = words(`{{otherWalletId}} {{keyId}} 00000000-0000-0000-0000-000000000000 x %00 %zz .. %2e%2e%2f
  {{walletId}}%20 null %F0%9F%98%80 %ff`);

export const oddPaths = fc.oneof(
  words(`/ // /v1 /v1/ /v1/search/ /V1/search /v1//search /v1/search;x=1 /v1/%73earch /v1/../v1/search /%2e%2e/ /% /%zz
    /..%2f..%2fetc/passwd /v1/search%00 /%c0%ae /docs /docs/..%2f.. /docs/%00 /docs/quickstart.md /problems/%2e%2e
    /operator/accounts /metrics /readyz /favicon.ico /.git/config /v1/keys/a/b/c /console /console/api
    /console/api/session /console/api/wallets /console/api/wallets//keys /console/../operator/accounts /console/%2e%2e
    /console/assets/..%2f..%2fpackage.json /console/assets/%00 /console/wallets/x /.well-known/ /v1/lenses/__proto__`),
  fc.constant(`/${"a".repeat(8_000)}`),
  fc.string({ unit: "binary-ascii", maxLength: 40 }).map((text) => `/${encodeURIComponent(text)}`),
  fc.string({ unit: "binary-ascii", maxLength: 30 }).map((text) => `/${text.replaceAll(/[^!-~]/g, "")}`),
);

export const oddQueries = fc.oneof(
  words(`? ?? ?&&& ?= ?limit ?limit=1&limit=2 ?limit[]=1 ?limit=1%00 ?cursor=%zz ?__proto__=1 ?constructor[prototype]=1
    ?cursor={{cursor}}&cursor={{cursor}} ?limit=+1 ?limit=99999999999999999999 ?limit=1e2 ?limit=-1 ?limit=0x1
    ?from=2030-01-31&to=2030-01-01 ?from=-271821-04-20 ?to=275760-09-13 ?from=1969-12-31 ?limit=1#fragment ?%00=%00
    ?from=2999-12-31&to=2999-12-31`),
  fc.constantFrom(`?x=${"a".repeat(7_000)}`, `?${"a=b&".repeat(1_500)}`),
  fc.webQueryParameters({ size: "medium" }).map((text) => `?${text}`),
);

export const keyPlaceholders =
  words(`{{live}} {{test}} {{mgmt}} {{otherMgmt}} {{empty}} {{suspended}} {{revoked}} {{expired}}
  {{elsewhere}} {{scopeless}} {{made}} {{unknown}} {{broken}} {{operator}}`);

export const sessionPlaceholders =
  words(`{{owner}} {{developer}} {{developer}} {{viewer}} {{viewer}} {{stale}} {{otherOwner}}
  {{live}} x`);

export const oddCookies = fc.constantFrom<[string, string][]>(
  [],
  [["cookie", ""]],
  [["cookie", "pennyblack"]],
  [["cookie", "pennyblack=;pennyblack==;;=;"]],
  [["cookie", `pennyblack=${"A".repeat(43)}; pennyblack={{owner}}`]],
  [["cookie", `__Host-pennyblack={{owner}}; pennyblack="{{owner}}"`]],
  [["cookie", `pennyblack=${"A".repeat(9_000)}`]],
  [["cookie", "pennyblack=%00; pennyblack-oidc=%zz; __proto__=x"]],
  [["authorization", "Bearer {{mgmt}}"]],
);

export const oddCsrfHeaders = fc.constantFrom<[string, string][]>(
  [],
  [["x-pennyblack-csrf", "0"]],
  [
    ["x-pennyblack-csrf", "1"],
    ["origin", "https://elsewhere.test"],
  ],
  [
    ["x-pennyblack-csrf", "1"],
    ["origin", "http://search.test"],
    ["sec-fetch-site", "cross-site"],
  ],
  [
    ["x-pennyblack-csrf", "1"],
    ["origin", "http://[::1"],
  ],
  [
    ["x-pennyblack-csrf", "1"],
    ["x-pennyblack-csrf", "1"],
  ],
);

export const oddCredentials = fc.constantFrom<[string, string][]>(
  [],
  [["authorization", ""]],
  [["authorization", "Bearer"]],
  [["x-api-key", " "]],
  [["x-api-key", "pb_live_"]],
  [["authorization", `Bearer ${"a".repeat(9_000)}`]],
  [["cookie", "session=x; session=y"]],
);

export const headerNames = words(`idempotency-key idempotency-key prefer rank-explain search-run accept accept-encoding
  accept-language traceparent tracestate x-request-id request-id x-forwarded-for forwarded x-real-ip x-forwarded-host
  x-forwarded-proto x-http-method-override content-encoding range if-none-match if-modified-since upgrade connection
  expect cookie origin referer te stripe-signature user-agent content-language max-forwards __proto__ constructor x-csrf`);

export const oddHeaderValues = fc.oneof(
  words(`1 true wait=1 abc "abc" */* gzip identity close keep-alive upgrade websocket h2c 100-continue trailers bytes=0-1
    127.0.0.1 ::1 DELETE t=1,v1=00 wait=1e9 wait=-1 max=1 " \\ ; , = run-1;max=1
    00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`),
  lines(`
    wait=2, respond-async
    run-1; max=0.05
    not an address
    1.2.3.4, 5.6.7.8`),
  fc.string({ unit: "binary-ascii", maxLength: 60 }),
  fc.nat({ max: 300 }).map((number) => `retry-${number}`),
);

export const oddContentTypes = fc.oneof(
  lines(`
    application/json; charset=utf-8
    application/json;charset="UTF8"
    application/json; charset=latin1
    APPLICATION/JSON
    text/plain
    application/x-www-form-urlencoded
    multipart/form-data; boundary=x
    application/json, text/plain
    application/problem+json
    */*`),
  fc.constantFrom("", "a".repeat(4_000), "application/json;".repeat(50)),
);

export const oddHeaderLines = fc.oneof(
  lines(`
    Content-Length: 5
    Content-Length: -1
    Content-Length: 1e3
    Content-Length: 99999999999999999999
    Content-Length : 5
    Content-Length: 5, 5
    Content-Length: +5
    Content-Length:
    Transfer-Encoding: chunked
    Transfer-Encoding: gzip, chunked
    Transfer-Encoding: xchunked
    Transfer-Encoding : chunked
    Transfer-Encoding: chunked, identity
    Host: other.test
    Host:
    : nameless
    No colon
    X\\0: y
    Connection: close, keep-alive
    Trailer: x
    Upgrade: h2c
    HTTP2-Settings: AAMAAABkAAQAAP__`),
  fc.constantFrom(" folded: x", "X: \u0001", "Transfer-Encoding:\tchunked"),
  fc.constantFrom(`X: ${"a".repeat(17_000)}`, `${"X: a\r\n".repeat(1_200)}X: b`, `${"a".repeat(17_000)}: x`),
);

export const oddFirstLines = fc.oneof(
  lines(`
    GET / HTTP/1.0
    GET / HTTP/0.9
    GET /
    GET / HTTP/2.0
    GET / HTTP/9.9
    PRI * HTTP/2.0
    GET  / HTTP/1.1
    OPTIONS * HTTP/1.1
    CONNECT example.org:443 HTTP/1.1
    GET http://search.test/v1/key HTTP/1.1
    POST http://other.test/v1/search HTTP/1.1
    GET /v1/ke y HTTP/1.1
    GET /\\0 HTTP/1.1
    GET /\u00ff HTTP/1.1
    GET ? HTTP/1.1
    GET # HTTP/1.1
    GET http:// HTTP/1.1
    GET http://[ HTTP/1.1
    GET //x HTTP/1.1
    GET /x?y#z HTTP/1.1`),
  fc.constantFrom("\r\nGET / HTTP/1.1", `GET /${"a".repeat(17_000)} HTTP/1.1`),
);
