/** A small mistake that a developer could make, and the test that must catch it. */
export interface PlantedFault {
  description: string;
  file: string;
  /** Must occur in the file exactly once. A stale fault is reported, not skipped. */
  find: string;
  replace: string;
  /** Test files to run, as arguments of `npm test --`, and the test that must fail. */
  tests: string[];
  caughtBy: string;
}

const hold = "server/sql/hold.sql";
const capture = "server/sql/capture.sql";
const statements = "src/wallet/statements.test";
const model = "test/ledger-model/ledger-model.test";
const idempotency = "stories/idempotency.test";
const credentials = "stories/credentials.test";
const searchFlow = "src/search/search.test";

const walletFaults: PlantedFault[] = [
  {
    description: "money held by other searches can be spent again",
    file: hold,
    find: "if outcome is null and price > balance - held then",
    replace: "if outcome is null and price > balance then",
    tests: [statements],
    caughtBy: "200 concurrent searches cannot overspend a wallet with money for 100",
  },
  {
    description: "a batch without budgets or idempotency keys can overspend the wallet",
    file: hold,
    find: "having count(*) * pb.price_micros() > g.available",
    replace: "having false",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a batch ignores the holds of its earlier items",
    file: hold,
    find: "held := held + price;",
    replace: "held := held;",
    tests: [statements],
    caughtBy: "concurrent batches cannot overspend a wallet",
  },
  {
    description: "holds do not lock the wallet",
    file: hold,
    find: "order by w.id for no key update;\n  end if;\n  now_at := clock_timestamp();\n\n  if not sent_before",
    replace: "order by w.id;\n  end if;\n  now_at := clock_timestamp();\n\n  if not sent_before",
    tests: [statements, "src/wallet/locks.test"],
    caughtBy: "concurrent batches, sweeps, refunds and top-ups over the same wallets never deadlock",
  },
  {
    description: "an expired hold is captured",
    file: capture,
    find: "false)\n      and s.state = 'pending' and s.expires_at > now_at",
    replace: "false)\n      and s.state = 'pending'",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a batch of one spends money held by other searches",
    file: hold,
    find: "and w.credited_micros - w.debited_micros - w.held_micros >= pb.price_micros()",
    replace: "and w.credited_micros - w.debited_micros >= pb.price_micros()",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a batch of one leaves money held after the key was rejected",
    file: hold,
    find: "update pb.wallets w set held_micros = w.held_micros - pb.price_micros() where w.id = wallet_ids[1];",
    replace: "null;",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a batch of one skips the budget of its key",
    file: hold,
    find: "and k.revoked_at is null and k.budget_id is null and (k.expires_at",
    replace: "and k.revoked_at is null and (k.expires_at",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a batch of one captures an expired hold",
    file: capture,
    find: "and s.wallet_id = wallet_ids[1] and s.state = 'pending' and s.expires_at > now_at",
    replace: "and s.wallet_id = wallet_ids[1] and s.state = 'pending'",
    tests: ["stories/billing-moment.test"],
    caughtBy: "a hold that expired before its capture returns 503 without a charge, and the loss is counted",
  },
  {
    description: "capturing a batch of one does not reduce the held amount",
    file: capture,
    find: "set debited_micros = w.debited_micros + price, held_micros = w.held_micros - price",
    replace: "set debited_micros = w.debited_micros + price",
    tests: [statements],
    caughtBy: "concurrent capture, release and sweep settle a search exactly once",
  },
  {
    description: "a capture does not reduce the held amount",
    file: capture,
    find: "set debited_micros = w.debited_micros + paid.micros, held_micros = w.held_micros - paid.micros",
    replace: "set debited_micros = w.debited_micros + paid.micros",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a failed search is not credited back to its run budget",
    file: "server/sql/release.sql",
    find: "set spent_micros = r.spent_micros - back.micros",
    replace: "set spent_micros = r.spent_micros",
    tests: [model, credentials],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a release after midnight is credited to the new day",
    file: "server/sql/release.sql",
    find: "day_spent_micros = b.day_spent_micros - back.of_day,",
    replace: "day_spent_micros = greatest(b.day_spent_micros - back.total, 0),",
    tests: [statements],
    caughtBy: "a release after midnight is subtracted only from the day and month the search was counted in",
  },
  {
    description: "the sweeper expires holds an hour late",
    file: "server/sql/sweep.sql",
    find: "s.state = 'pending' and s.expires_at <= now_at\n        and s.wallet_id <> all",
    replace: "s.state = 'pending' and s.expires_at <= now_at - interval '1 hour'\n        and s.wallet_id <> all",
    tests: [statements, model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "yesterday's spending counts against today's budget",
    file: hold,
    find: "case when g.day = today then g.day_spent_micros else 0 end as day_spent,",
    replace: "g.day_spent_micros as day_spent,",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a search that was not charged is refunded",
    file: "server/sql/money-in.sql",
    find: "from given where is_first and state = 'captured' and price_micros > 0",
    replace: "from given where is_first and price_micros > 0",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "a payment with a different amount is accepted as a duplicate",
    file: "server/sql/money-in.sql",
    find: "and coalesce(p.amount_micros, t.amount_micros) = g.amount_micros then 'repeated'",
    replace: "then 'repeated'",
    tests: [model],
    caughtBy: "a batch decides like its items one by one, and every row matches the model",
  },
  {
    description: "an Idempotency-Key reused for a different query returns the first answer",
    file: hold,
    find: "when claimed <> i.fingerprint then 'idempotency_key_reused'",
    replace: "when false then 'idempotency_key_reused'",
    tests: [idempotency],
    caughtBy: "another query, n or category with the same key returns 422 without a charge",
  },
  {
    description: "the claim of a crashed server is not taken over in time",
    file: "server/sql/idempotency.sql",
    find: "where c.fingerprint = b.fingerprint and c.answer is null and c.claimed_at <= now_at - interval '15 seconds';",
    replace:
      "where c.fingerprint = b.fingerprint and c.answer is null and c.claimed_at <= now_at - interval '15 hours';",
    tests: [idempotency],
    caughtBy: "a claim whose search has not finished after 15 s is taken over, and one of the two is charged",
  },
];

const paymentFaults: PlantedFault[] = [
  {
    description: "only the first page of undecided refunds and disputes is compared",
    file: "server/src/wallet/reversals.ts",
    find: "if (rows.length < undecidedPageSize) return;",
    replace: "if (rows.length <= undecidedPageSize) return;",
    tests: ["stories/compare-payments.test"],
    caughtBy: "a comparison looks up every undecided refund and dispute, however many there are",
  },
];

const laneFaults: PlantedFault[] = [
  {
    description: "a hold waits for a locked wallet although it should skip it",
    file: hold,
    find: "if skip_locked then\n    busy_ids",
    replace: "if false then\n    busy_ids",
    tests: ["src/wallet/locked-wallet.test"],
    caughtBy: "holds of other wallets succeed at once while one wallet is locked",
  },
  {
    description: "one locked wallet stops the sweeper for all wallets",
    file: "server/sql/sweep.sql",
    find: "busy_ids := pb.lock_free_wallets(overdue_wallets);",
    replace: "perform pb.lock_wallets(overdue_wallets);\n    busy_ids := '{}';",
    tests: ["src/wallet/locked-wallet.test"],
    caughtBy: "the sweeper expires the holds of other wallets while one wallet is locked",
  },
  {
    description: "a lane forgets that an item may be committed when its resend is rolled back",
    file: "server/src/db/settle-batch.ts",
    find: "if (!isRolledBack(error)) for (const ticket of tickets) ticket.isInDoubt = true;",
    replace: "for (const ticket of tickets) ticket.isInDoubt = !isRolledBack(error);",
    tests: ["src/db/lane.test"],
    caughtBy: "an item whose outcome is unknown stays so, even if it is busy or rolled back when sent again",
  },
  {
    description: "a lane forgets that an item may be committed when its owner is busy",
    file: "server/src/db/settle-batch.ts",
    find: "if (result === busy) left.push(ticket);",
    replace: "if (result === busy) left.push({ ...ticket, isInDoubt: false });",
    tests: ["src/db/lane.test"],
    caughtBy: "an item whose outcome is unknown stays so, even if it is busy or rolled back when sent again",
  },
  {
    description: "a lock timeout or deadlock fails the search instead of being retried",
    file: "server/src/db/settle-batch.ts",
    find: "/^(22|23|42|P0)/",
    replace: "/^(22|23|40|42|55|57|P0)/",
    tests: ["src/db/lane.test"],
    caughtBy: "a lock timeout is not an unknown outcome: at the deadline the item is not committed",
  },
  {
    description: "a later item of a locked wallet overtakes the earlier ones",
    file: "server/src/db/lane.ts",
    find: "if (sideLane) sideLanes?.push(sideLane, ticket);\n      else queues",
    replace: "queues",
    tests: ["src/db/lane.test"],
    caughtBy: "items of an owner keep their order when it moves to a lane of its own and back",
  },
  {
    description: "a hot wallet stays in the lane that all wallets share",
    file: "server/src/db/hot-owners.ts",
    find: "hot = elapsedMs < 2 * windowMs ? findHot() : [];",
    replace: "hot = [];",
    tests: ["src/db/lane.test", "test/fairness/ledgers.test"],
    caughtBy: "an owner with a large share of the items gets a lane of its own until it cools down",
  },
];

const keyFaults: PlantedFault[] = [
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
    find: 'granted.filter((scope) => scope !== "search" && !own.includes(scope));',
    replace: 'granted.filter((scope) => scope === "keys:write" && !own.includes(scope));',
    tests: ["stories/keys.test"],
    caughtBy:
      "for every set of scopes, a key grants exactly those it has and search, and the refusal names all that are missing",
  },
  {
    description: "a management key can grant scopes it does not have, as far as the database checks",
    file: "server/sql/keys.sql",
    find: "select array_remove(p_scopes, 'search') <@ k.scopes",
    replace: "select array_remove(p_scopes, 'search') <@ k.scopes or true",
    tests: ["stories/keys.test"],
    caughtBy: "a key cannot hand on a scope that it does not have, neither by making a key nor by rotating one",
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

const fairShares = "stories/fair-shares.test";
const fairnessFaults: PlantedFault[] = [
  {
    description: "one wallet can occupy all slots of a server",
    file: "server/src/http/admission.ts",
    find: "if (owned >= maxOwned) {",
    replace: "if (owned > max) {",
    tests: ["src/http/admission.test", fairShares],
    caughtBy: "half-sent bodies of a known caller use up the share of its wallet, and nothing of another's",
  },
  {
    description: "test searches occupy the slots of paid searches",
    file: "server/src/search/limit-searches.ts",
    find: 'admission.enter(caller.mode === "test" ? "tests" : "callers", caller.walletId)',
    replace: 'admission.enter("callers", caller.walletId)',
    tests: ["src/search/limit-searches.test"],
    caughtBy: "a test search counts against the slots and the limits of test searches",
  },
  {
    description: "a search over its wallet's limit keeps its slot",
    file: "server/src/search/limit-searches.ts",
    find: "      release();\n      throw error;",
    replace: "      throw error;",
    tests: ["src/search/limit-searches.test"],
    caughtBy: "a search that exceeds a limit frees everything it occupied",
  },
  {
    description: "the keys of a wallet are limited one by one only",
    file: "server/src/search/limit-searches.ts",
    find: "const wallet = await acquireSlot(walletLimit(caller));",
    replace: "const wallet = await acquireSlot({ ...walletLimit(caller), keyId: caller.keyId });",
    tests: [fairShares, "src/search/limit-searches.test"],
    caughtBy: "a search counts against the server's slots first, then against its key, then against its wallet",
  },
  {
    description: "management requests do not count against the share of their wallet",
    file: "server/src/http/request-limits.ts",
    find: 'occupySlot(reply.request, admission.enter("callers", walletId));',
    replace: "occupySlot(reply.request, () => undefined);",
    tests: [fairShares],
    caughtBy: "half-sent bodies of a known caller use up the share of its wallet, and nothing of another's",
  },
  {
    description: "the body of a payment webhook is read before its signature header is checked",
    file: "server/src/payments/webhook-route.ts",
    find: "if (!processor.isPlausibleSignature(signature))",
    replace: "if (signature === 'none')",
    tests: [fairShares],
    caughtBy: "a payment webhook without a well-formed, fresh signature is rejected before its body is read",
  },
  {
    description: "an old signature of a payment webhook is plausible",
    file: "server/src/payments/stripe-signature.ts",
    find: "return Math.abs(nowMs / 1_000 - Number(timestamp)) <= toleranceSeconds;",
    replace: "return Number(timestamp) <= nowMs / 1_000 + toleranceSeconds;",
    tests: ["src/payments/stripe-signature.test"],
    caughtBy: "a signature header is plausible only if it is well-formed and at most five minutes old",
  },
  {
    description: "look-ups of unknown keys are not bounded",
    file: "server/src/keys/keys.ts",
    find: "const leave = enterLookUp(from);",
    replace: "const leave = (): void => undefined;",
    tests: [fairShares],
    caughtBy: "look-ups of unknown keys wait in slots of their own, and a key that worked before needs none",
  },
  {
    description: "requests without a key are not bounded",
    file: "server/src/http/http-server.ts",
    find: "if (isPublic(route)) occupySlot(",
    replace: "if (isPublic(route) && request.id === '') occupySlot(",
    tests: ["src/http/http-server.test"],
    caughtBy:
      "unknown callers have a pool of their own, which a request leaves when its caller is known or it has ended",
  },
  {
    description: "test searches are deleted before their usage is counted",
    file: "server/src/wallet/upkeep/prune.ts",
    find: "least(clock_timestamp() - $1::integer * interval '1 day', pb.usage_as_of() - interval '3 days')",
    replace: "(clock_timestamp() - $1::integer * interval '1 day')",
    tests: ["src/wallet/upkeep/prune.test"],
    caughtBy: "test searches are deleted after three days, in batches, and no other search is",
  },
];

const searchFaults: PlantedFault[] = [
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

const inputFaults: PlantedFault[] = [
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
    find: "if ((known.get(name) ?? 0) > performance.now()) return true;",
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
    caughtBy: "a key that appears twice is 400 naming the key, and nothing is searched or charged",
  },
  {
    description: "a request with two Host headers is served",
    file: "server/src/http/http-server.ts",
    find: 'if (count > 1) return "There is more than one Host header.";',
    replace: "",
    tests: ["stories/answer-headers.test"],
    caughtBy: "a request with two Host headers is 400, and a search with them is not charged",
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

const problemFaults: PlantedFault[] = [
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

const searchCalls = "server/src/search/search-calls.ts";
const unpaidLimit = "server/src/search/unpaid-limit.ts";
const unpaidCalls = "fairness/unpaid-calls.test";

const unpaidFaults: PlantedFault[] = [
  {
    description: "the cost of an upstream call is not booked",
    file: "server/src/search/routing.ts",
    find: "calls.recordSent(provider.name, cost);",
    replace: "",
    tests: [unpaidCalls],
    caughtBy: "failures of the upstream cost money and never limit the wallet",
  },
  {
    description: "the costs of the last seconds are lost at shutdown",
    file: "server/src/app.ts",
    find: "await tally.close();",
    replace: "",
    tests: [unpaidCalls],
    caughtBy: "an ordinary shutdown writes the costs of abandoned searches",
  },
  {
    description: "abandoned searches do not count as unpaid calls",
    file: searchCalls,
    find: 'answer.reason === "aborted" ||',
    replace: "",
    tests: [unpaidCalls],
    caughtBy:
      "a one-cent wallet that drops every connection gets 20 unpaid upstream calls, and the operator sees their cost",
  },
  {
    description: "searches that time out by their own deadline do not count as unpaid calls",
    file: searchCalls,
    find: "waitSeconds !== undefined && !isOpen",
    replace: "waitSeconds === undefined && !isOpen",
    tests: [unpaidCalls],
    caughtBy: "a wallet that sends Prefer: wait=1 is limited in the same way",
  },
  {
    description: "failures of the upstream limit the wallet",
    file: searchCalls,
    find: '? "caller" : "upstream";',
    replace: '? "caller" : "caller";',
    tests: ["src/search/search-calls.test"],
    caughtBy: "failures of the upstream never count",
  },
  {
    description: "paid searches do not raise the allowance of unpaid calls",
    file: unpaidLimit,
    find: "earned.add(walletId);",
    replace: "return;",
    tests: ["src/search/unpaid-limit.test"],
    caughtBy: "paid searches earn unpaid calls, at most 1,000 and for at most an hour or so",
  },
  {
    description: "searches at once do not reserve their unpaid calls",
    file: unpaidLimit,
    find: "local.change(walletId, 1, share);",
    replace: "local.change(walletId, 0, share);",
    tests: ["src/search/unpaid-limit.test"],
    caughtBy: "searches at once cannot exceed the allowance of a wallet with unpaid calls",
  },
  {
    description: "the allowance of unpaid calls never refills in Redis",
    file: unpaidLimit,
    find: "level - math.max(0, ms - saved[2]) / ARGV[3]",
    replace: "level",
    tests: [unpaidCalls],
    caughtBy: "two servers count in one place, and time refills the allowance",
  },
  {
    description: "wallets that pay for their searches are listed as open problems",
    file: "server/src/usage/read-margin.ts",
    find: " and sum(calls) > sum(paid_calls)",
    replace: "",
    tests: ["src/usage/tally.test"],
    caughtBy: "lists the wallets that abandoned more calls than they paid for in the last hour",
  },
];

export const plantedFaults: readonly PlantedFault[] = [
  ...walletFaults,
  ...laneFaults,
  ...keyFaults,
  ...fairnessFaults,
  ...searchFaults,
  ...problemFaults,
  ...unpaidFaults,
  ...inputFaults,
  ...paymentFaults,
];
