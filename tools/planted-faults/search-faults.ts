import type { PlantedFault } from "./planted-fault.ts";

const hold = "server/sql/hold.sql";
const statements = "src/wallet/statements.test";
const idempotency = "stories/idempotency.test";
const credentials = "stories/credentials.test";
const searchFlow = "src/search/search.test";

export const keyFaults: PlantedFault[] = [
  {
    description: "a revoked key can spend in a batch without budgets or idempotency keys",
    file: hold,
    find: "k.mode <> 'mgmt' and k.revoked_at is null and k.budget_id is null",
    replace: "k.mode <> 'mgmt' and k.budget_id is null",
    tests: [statements],
    caughtBy: "no hold succeeds for a key after its revocation has committed",
  },
  {
    description: "a revoked key can spend in a batch of one",
    file: hold,
    find: "and k.revoked_at is null and k.budget_id is null and (k.expires_at is null or k.expires_at > now_at)\n        and search_ids",
    replace: "and k.budget_id is null and (k.expires_at is null or k.expires_at > now_at)\n        and search_ids",
    tests: [credentials],
    caughtBy: "a revoked key cannot spend while the cache still has it",
  },
  {
    description: "a revoked key can spend until it is evicted from the cache",
    file: hold,
    find: "when i.revoked then 'api_key_revoked'",
    replace: "when false then 'api_key_revoked'",
    tests: [statements],
    caughtBy: "no hold succeeds for a key after its revocation has committed",
  },
  {
    description: "a wallet can revoke another wallet's key by id",
    file: "server/sql/keys.sql",
    find: "where k.id = p_key and k.wallet_id = p_wallet and k.revoked_at is null;",
    replace: "where k.id = p_key and k.revoked_at is null;",
    tests: ["stories/keys.test"],
    caughtBy: "a key cannot be revoked by another wallet",
  },
  {
    description: "a management key can grant scopes it does not have, as far as the server checks",
    file: "server/src/keys/scopes.ts",
    find: 'granted.filter((scope) => scope !== "search" && !hasScope(own, scope));',
    replace: 'granted.filter((scope) => scope === "keys:write" && !hasScope(own, scope));',
    tests: ["stories/keys.test"],
    caughtBy:
      "for every set of scopes, a key grants exactly those it has and search, and the refusal names all that are missing",
  },
  {
    description: "a management key can grant scopes it does not have, as far as the database checks",
    file: "server/sql/keys.sql",
    find: "select array_remove(p_scopes, 'search')\n",
    replace: "select true or array_remove(p_scopes, 'search')\n",
    tests: ["stories/keys.test"],
    caughtBy: "a key cannot grant a scope it lacks, neither by creating a key nor by rotating one",
  },
  {
    description: "the IP allowlist of a key is ignored",
    file: "server/src/keys/keys.ts",
    find: "if (found.allowedIps && !isListed(found.allowedIps, from))",
    replace: "if (found.allowedIps && isListed(found.allowedIps, ''))",
    tests: [credentials],
    caughtBy:
      "a key limited to networks returns 403 from elsewhere, and X-Forwarded-For counts only from trusted proxies",
  },
  {
    description: "a mistyped key is looked up in the database",
    file: "server/src/keys/key-format.ts",
    find: "return key.slice(-checksumLength) === checksum(unsigned) ? (match[1] as KeyMode) : undefined;",
    replace: "return unsigned === '' ? undefined : (match[1] as KeyMode);",
    tests: ["src/keys/key-format.test"],
    caughtBy: "the checksum catches every typo of one character",
  },
  {
    description: "an IP address that guesses keys is not limited",
    file: "server/src/keys/key-guessing.ts",
    find: "if (leftMs > 0 && !(await isKnown(key))) throw",
    replace: "if (leftMs > 60_000 && !(await isKnown(key))) throw",
    tests: ["stories/key-guessing.test"],
    caughtBy: "after a hundred wrong keys per minute, all servers return 429 to wrong and correct guesses alike",
  },
  {
    description: "two different keys in one request are accepted and the last one is charged",
    file: "server/src/http/credentials.ts",
    find: "if (credential !== undefined && credential !== key) {",
    replace: "if (credential !== undefined && credential.length !== key.length) {",
    tests: [credentials],
    caughtBy: "two different keys return 400 conflicting_credentials, valid or not, in any combination of headers",
  },
];

export const searchFaults: PlantedFault[] = [
  {
    description: "a failed search does not release its hold",
    file: "server/src/search/search.ts",
    find: 'await steps.trace("release", () => dependencies.release({ ...hold, outcome: outcomeOf(error) }, caller.mode));',
    replace: "",
    tests: [searchFlow],
    caughtBy: "any failure between hold and capture releases the hold once",
  },
  {
    description: "a search whose hold expired before capture returns 200",
    file: "server/src/search/search.ts",
    find: 'if (paid.state !== "captured")',
    replace: 'if (paid.state === "released")',
    tests: [searchFlow],
    caughtBy: "a capture that is too late is a 503, never a 200",
  },
  {
    description: "a capture with an unknown outcome returns 503 as if nothing was charged",
    file: "server/src/search/pay-for-search.ts",
    find: 'if (cause instanceof OutcomeUnknown) return new NoResponse("the outcome of the capture is unknown", { cause });',
    replace: 'if (cause instanceof OutcomeUnknown) return new Problem("ledger_unavailable", { cause });',
    tests: ["stories/billing-moment.test"],
    caughtBy: "a capture whose outcome is unknown after 30 s closes the connection without a status",
  },
  {
    description: "a failed search waits for its release, however long that takes",
    file: "server/src/search/pay-for-search.ts",
    find: "await withTimeLimit(finished, maxReleaseWaitMs);",
    replace: "await withTimeLimit(finished, 60 * maxReleaseWaitMs);",
    tests: ["src/search/pay-for-search.test"],
    caughtBy: "the caller waits at most a second for a release, which then continues in the background",
  },
  {
    description: "a stopping server does not wait for releases in the background",
    file: "server/src/search/pay-for-search.ts",
    find: "releases.add(finished);",
    replace: "",
    tests: ["src/search/pay-for-search.test"],
    caughtBy: "a shutdown also waits for releases that no caller waits for",
  },
  {
    description: "test and live keys share stored answers",
    file: "server/src/search/idempotency.ts",
    find: "const scopedKey = `${scope.walletId}/${scope.mode}/${key}`;",
    replace: "const scopedKey = `${scope.walletId}/${key}`;",
    tests: ["src/search/idempotency.test"],
    caughtBy: "an answer opens only with the same secret, wallet, mode and key",
  },
];

export const problemFaults: PlantedFault[] = [
  {
    description: "an upstream's 401 is forwarded and looks like an invalid API key",
    file: "server/src/search/forward-failure.ts",
    find: "const neverForwarded = new Set([401, 402, 405, 407, 426]);",
    replace: "const neverForwarded = new Set([402, 405, 407, 426]);",
    tests: ["src/search/forward-failure.test"],
    caughtBy: "never forwards 401, 402 or 407, whatever reason an adapter reports",
  },
  {
    description: "errors lack the Retry-After header",
    file: "server/src/http/encode-problem.ts",
    find: '...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),',
    replace: "",
    tests: [idempotency],
    caughtBy: "a retry while the first is in flight returns 409 with Retry-After, and later a replay",
  },
];

export const inputFaults: PlantedFault[] = [
  {
    description: "a proxy that is not listed goes unnoticed",
    file: "server/src/http/watch-forwarding.ts",
    find: "(trusted?.length ?? 1) > 1) return;",
    replace: "(trusted?.length ?? 1) > 0) return;",
    tests: ["stories/unlisted-proxy.test"],
    caughtBy: "wrong keys behind an unlisted proxy lock out no key that has worked, and the operator is warned once",
  },
  {
    description: "wrong keys lock out keys that have worked from the same address",
    file: "server/src/keys/key-guessing.ts",
    find: "if (isKnownHere(name)) return true;",
    replace: "if (name === '') return true;",
    tests: ["stories/unlisted-proxy.test"],
    caughtBy: "wrong keys behind an unlisted proxy lock out no key that has worked, and the operator is warned once",
  },
  {
    description: "the address in a sign-in link can be replaced",
    file: "server/src/console/sessions.ts",
    find: '"select pb.redeem_sign_in($1, $2, $3) as done", [\n    digestToken(token),',
    replace: '"select pb.redeem_sign_in($1, $2, $3) as done", [\n    digestToken(token.slice(0, 43)),',
    tests: ["console/mail.test"],
    caughtBy: "a link contains the address it signs in, and does not work with another one",
  },
  {
    description: "a quoted or bracketed spelling of an email address gets a trial of its own",
    file: "server/src/lib/email-address.ts",
    find: "if (user.length > 64 || !plainUser.test(user)) return undefined;",
    replace: 'if (user.length > 64 || user === "") return undefined;',
    tests: ["src/lib/email-address.test"],
    caughtBy:
      "rejects other spellings of a mailbox: quoted, bracketed, with a comment, a display name or a trailing dot",
  },
  {
    description: "of two values for one JSON key, the last one is used",
    file: "server/src/http/find-duplicate-key.ts",
    find: "current.keys.add(key);",
    replace: "",
    tests: ["stories/request-body.test"],
    caughtBy: "a key that appears twice returns 400 with its name, and nothing is searched or charged",
  },
  {
    description: "a request with two Host headers is served",
    file: "server/src/http/http-server.ts",
    find: 'if (count > 1) return "There is more than one Host header.";',
    replace: "",
    tests: ["stories/answer-headers.test"],
    caughtBy: "a request with two Host headers returns 400, and a search with them is not charged",
  },
  {
    description: "an upstream can return URLs of any length",
    file: "server/src/search/clean-results.ts",
    find: "if (url.href.length > maxUrlLength) return undefined;",
    replace: "if (url.href.length < 0) return undefined;",
    tests: ["src/search/clean-results.test"],
    caughtBy: "drops results whose URL is longer than 2,048 characters, as returned",
  },
];
