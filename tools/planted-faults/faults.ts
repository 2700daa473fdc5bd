/** One small mistake, such as a tired person makes, and the tests that should see it. */
export interface PlantedFault {
  what: string;
  file: string;
  /** Stands in the file exactly once; a fault that has gone stale is told, not skipped. */
  find: string;
  replace: string;
  /** The narrowest test files, as `npm test --` takes them, and the test among them that has to fail. */
  tests: string[];
  caughtBy: string;
}

const hold = "server/migrations/0024_new_ids.sql";
const capture = "server/migrations/0025_small_batches.sql";
const statements = "src/wallet/statements.test";
const model = "src/wallet/ledger-model.test";
const idempotency = "stories/idempotency.test";
const credentials = "stories/credentials.test";
const story = "src/search/search.test";

const walletFaults: PlantedFault[] = [
  {
    what: "what other searches hold can be spent again",
    file: hold,
    find: "if outcome is null and price > balance - held then",
    replace: "if outcome is null and price > balance then",
    tests: [statements],
    caughtBy: "two hundred searches at once cannot spend a wallet that holds one hundred",
  },
  {
    what: "a batch that nothing stands in the way of may spend more than there is",
    file: hold,
    find: "having count(*) * 10000 > g.available",
    replace: "having false",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "a batch forgets what its earlier items took",
    file: hold,
    find: "held := held + price;",
    replace: "held := held;",
    tests: [statements],
    caughtBy: "nor can they in batches",
  },
  {
    what: "holds do not queue for the wallet's lock",
    file: hold,
    find: "order by w.id for no key update;\n  now_at := clock_timestamp();\n\n  if not sent_before",
    replace: "order by w.id;\n  now_at := clock_timestamp();\n\n  if not sent_before",
    tests: [statements, "src/wallet/locks.test"],
    caughtBy:
      "batches over the same wallets in any order, the sweeper, refunds and top-ups never wait for each other in a circle",
  },
  {
    what: "a hold whose life is over is still captured",
    file: capture,
    find: "false)\n      and s.state = 'pending' and s.expires_at > now_at",
    replace: "false)\n      and s.state = 'pending'",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "one search alone spends what others hold",
    file: hold,
    find: "and w.credited_micros - w.debited_micros - w.held_micros >= 10000",
    replace: "and w.credited_micros - w.debited_micros >= 10000",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "one search alone keeps the money its key may not spend",
    file: hold,
    find: "update pb.wallets w set held_micros = w.held_micros - 10000 where w.id = wallet_ids[1];",
    replace: "null;",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "one search alone is held although its key has a budget",
    file: hold,
    find: "and k.revoked_at is null and k.budget_id is null and (k.expires_at",
    replace: "and k.revoked_at is null and (k.expires_at",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "one search alone is captured after the life of its hold",
    file: capture,
    find: "and s.wallet_id = wallet_ids[1] and s.state = 'pending' and s.expires_at > now_at",
    replace: "and s.wallet_id = wallet_ids[1] and s.state = 'pending'",
    tests: ["stories/billing-moment.test"],
    caughtBy: "a hold that expired before its capture is not charged: 503, and the loss is ours and counted",
  },
  {
    what: "one search alone takes no money off what is held",
    file: capture,
    find: "set debited_micros = w.debited_micros + price, held_micros = w.held_micros - price",
    replace: "set debited_micros = w.debited_micros + price",
    tests: [statements],
    caughtBy: "a search sent to capture, release and the sweeper at once ends once",
  },
  {
    what: "a capture takes no money off what is held",
    file: capture,
    find: "set debited_micros = w.debited_micros + paid.micros, held_micros = w.held_micros - paid.micros",
    replace: "set debited_micros = w.debited_micros + paid.micros",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "a failed search is not given back to its run",
    file: "server/migrations/0019_reads.sql",
    find: "set spent_micros = r.spent_micros - back.micros",
    replace: "set spent_micros = r.spent_micros",
    tests: [model, credentials],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "what is released after midnight is taken off the new day",
    file: "server/migrations/0019_reads.sql",
    find: "day_spent_micros = b.day_spent_micros - back.of_day,",
    replace: "day_spent_micros = greatest(b.day_spent_micros - back.total, 0),",
    tests: [statements],
    caughtBy: "what is released after midnight is given back to the day and month it was counted in, and to no other",
  },
  {
    what: "the sweeper comes an hour late",
    file: "server/migrations/0021_expired_money.sql",
    find: "s.state = 'pending' and s.expires_at <= now_at\n    order by",
    replace: "s.state = 'pending' and s.expires_at <= now_at - interval '1 hour'\n    order by",
    tests: [statements, model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "yesterday's spending counts against today's budget",
    file: hold,
    find: "case when g.day = today then g.day_spent_micros else 0 end as day_spent,",
    replace: "g.day_spent_micros as day_spent,",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "a search that was not charged is refunded",
    file: "server/migrations/0005_money_in.sql",
    find: "from given where is_first and state = 'captured' and price_micros > 0",
    replace: "from given where is_first and price_micros > 0",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "a payment announced with another amount passes for a repetition",
    file: "server/migrations/0016_reversals.sql",
    find: "and coalesce(p.amount_micros, t.amount_micros) = g.amount_micros then 'repeated'",
    replace: "then 'repeated'",
    tests: [model],
    caughtBy: "a batch decides as its items would one by one, and every row says what the model says",
  },
  {
    what: "a key used for another question gets the answer to the first",
    file: hold,
    find: "when claimed <> i.fingerprint then 'idempotency_key_reused'",
    replace: "when false then 'idempotency_key_reused'",
    tests: [idempotency],
    caughtBy: "another query, n or category under the same key is 422 and charges nothing",
  },
  {
    what: "a claim whose server died is never taken over",
    file: "server/migrations/0004_hold.sql",
    find: "where c.fingerprint = b.fingerprint and c.answer is null and c.claimed_at <= now_at - interval '15 seconds';",
    replace:
      "where c.fingerprint = b.fingerprint and c.answer is null and c.claimed_at <= now_at - interval '15 hours';",
    tests: [idempotency],
    caughtBy: "a claim whose search has not finished after 15 s is taken over, and only one of the two is paid",
  },
];

const keyFaults: PlantedFault[] = [
  {
    what: "a revoked key spends where nothing else stands in the way",
    file: hold,
    find: "k.mode <> 'mgmt' and k.revoked_at is null and k.budget_id is null",
    replace: "k.mode <> 'mgmt' and k.budget_id is null",
    tests: [statements],
    caughtBy: "a revoked key holds nothing from the moment its revocation commits",
  },
  {
    what: "a revoked key spends on one search alone",
    file: hold,
    find: "and k.revoked_at is null and k.budget_id is null and (k.expires_at is null or k.expires_at > now_at)\n        and search_ids",
    replace: "and k.budget_id is null and (k.expires_at is null or k.expires_at > now_at)\n        and search_ids",
    tests: [credentials],
    caughtBy: "a key revoked a moment ago cannot spend, although the cache still knows it",
  },
  {
    what: "a revoked key spends until the cache forgets it",
    file: hold,
    find: "when i.revoked then 'api_key_revoked'",
    replace: "when false then 'api_key_revoked'",
    tests: [statements],
    caughtBy: "a revoked key holds nothing from the moment its revocation commits",
  },
  {
    what: "whoever knows a key's id can revoke it for another wallet",
    file: "server/migrations/0011_own_keys.sql",
    find: "where k.id = the_key and k.wallet_id = the_wallet and k.revoked_at is null;",
    replace: "where k.id = the_key and k.revoked_at is null;",
    tests: ["stories/keys.test"],
    caughtBy: "a key is revoked for its own wallet alone",
  },
  {
    what: "a key works from anywhere, whatever networks it is bound to",
    file: "server/src/keys/keys.ts",
    find: "if (found.allowedIps && !isListed(found.allowedIps, from))",
    replace: "if (found.allowedIps && isListed(found.allowedIps, ''))",
    tests: [credentials],
    caughtBy:
      "a key bound to networks is 403 ip_not_allowed from elsewhere, and an X-Forwarded-For of nobody trusted is not believed",
  },
  {
    what: "a mistyped key is looked up in the database",
    file: "server/src/keys/key-format.ts",
    find: "return key.slice(-checksumLength) === checksum(unsigned) ? (match[1] as KeyMode) : undefined;",
    replace: "return unsigned === '' ? undefined : (match[1] as KeyMode);",
    tests: ["src/keys/key-format.test"],
    caughtBy: "the checksum catches every typo of one character",
  },
  {
    what: "an address that guesses keys is told each time whether it was right",
    file: "server/src/keys/guesses.ts",
    find: "if (leftMs > 0 && !(await isKnown(key))) throw",
    replace: "if (leftMs > 60_000 && !(await isKnown(key))) throw",
    tests: ["stories/key-guessing.test"],
    caughtBy: "the hundred and first wrong key within a minute is refused with 429, on any server, and tells nothing",
  },
  {
    what: "of two different keys, the last one pays",
    file: "server/src/http/credentials.ts",
    find: "if (credential !== undefined && credential !== key) {",
    replace: "if (credential !== undefined && credential.length !== key.length) {",
    tests: [credentials],
    caughtBy: "two different keys are 400 conflicting_credentials, in whatever lines they come, valid or not",
  },
];

const searchFaults: PlantedFault[] = [
  {
    what: "a search that failed keeps its hold until it expires",
    file: "server/src/search/search.ts",
    find: 'await steps.trace("release", () => parts.release({ ...hold, outcome: outcomeOf(failure) }, caller.mode));',
    replace: "",
    tests: [story],
    caughtBy: "whatever fails between hold and capture releases the hold, once, before the failure is told",
  },
  {
    what: "a capture that came too late is answered with 200",
    file: "server/src/search/search.ts",
    find: 'if (paid.state !== "captured") throw',
    replace: 'if (paid.state === "released") throw',
    tests: [story],
    caughtBy: "a capture that came too late charges nothing and is 503, never a 200",
  },
  {
    what: "a capture of unknown outcome is answered with 503, as if nothing was charged",
    file: "server/src/app.ts",
    find: 'if (cause instanceof OutcomeUnknown) throw new NoAnswer("the capture\'s outcome is unknown", { cause });',
    replace: 'if (cause instanceof OutcomeUnknown) throw new Problem("ledger_unavailable", { cause });',
    tests: ["stories/billing-moment.test"],
    caughtBy:
      "a capture whose outcome cannot be learned in 30 s is not answered with a guess: the connection is closed",
  },
  {
    what: "test keys and live keys share their stored answers",
    file: "server/src/search/idempotency.ts",
    find: "const named = `${scope.walletId}/${scope.mode}/${key}`;",
    replace: "const named = `${scope.walletId}/${key}`;",
    tests: ["src/search/idempotency.test"],
    caughtBy: "an answer opens with the same secret, wallet, mode and key, and with nothing less",
  },
];

const problemFaults: PlantedFault[] = [
  {
    what: "an upstream's 401 sends callers after their own key",
    file: "server/src/search/forward-failure.ts",
    find: "const neverForwarded = new Set([401, 402, 405, 407, 426]);",
    replace: "const neverForwarded = new Set([402, 405, 407, 426]);",
    tests: ["src/search/forward-failure.test"],
    caughtBy: "what would send the caller after its own key or money is hidden, whatever an adapter makes of it",
  },
  {
    what: "an error no longer says when to try again",
    file: "server/src/http/encode-problem.ts",
    find: '...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),',
    replace: "",
    tests: [idempotency],
    caughtBy: "while the first is in flight the second is 409 with Retry-After, and afterwards a replay",
  },
];

export const plantedFaults: readonly PlantedFault[] = [
  ...walletFaults,
  ...keyFaults,
  ...searchFaults,
  ...problemFaults,
];
