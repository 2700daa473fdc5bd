import type { PlantedFault } from "./planted-fault.ts";

const hold = "server/sql/hold.sql";
const capture = "server/sql/capture.sql";
const tests = ["src/wallet/plain-holds.test"];

/** Mistakes in the short paths of searches that are new and certain to be held. */
export const plainHoldFaults: PlantedFault[] = [
  {
    id: "claim-ignored-in-batch-of-one",
    description: "a single search ignores the claim on its Idempotency-Key",
    file: hold,
    find: "and not exists (select from pb.idempotency c where c.wallet_id = p_wallet and c.key_hmac = p_hmac);",
    replace: ";",
    tests,
    caughtBy: "the short path gives the same results",
  },
  {
    id: "claim-of-one-not-written",
    description: "a single search does not claim its Idempotency-Key",
    file: hold,
    find: "if p_hmac is not null then\n    insert into pb.idempotency",
    replace: "if false then\n    insert into pb.idempotency",
    tests,
    caughtBy: "the short path gives the same results",
  },
  {
    id: "claimed-key-in-short-path",
    description: "a batch does not look for claims before it takes the short path",
    file: hold,
    find: "and b.wallet_id <> all (claimants)",
    replace: "",
    tests,
    caughtBy: "the short path gives the same results",
  },
  {
    id: "repeated-key-in-short-path",
    description: "a batch does not notice an Idempotency-Key that it contains twice",
    file: hold,
    find: "group by b.wallet_id, b.hmac having count(*) > 1",
    replace: "group by b.wallet_id, b.hmac having false",
    tests,
    caughtBy: "the short path gives the same results",
  },
  {
    id: "held-search-decided-again",
    description: "a search that took the short path is also decided on the long one",
    file: hold,
    find: "select case when b.mode is null then b.wallet_id end",
    replace: "select b.wallet_id",
    tests,
    caughtBy: "a wallet that needs decisions does not change the results of others in its batch",
  },
  {
    id: "answer-of-one-not-stored",
    description: "the capture of a single search does not store its answer",
    file: capture,
    find: "if p_answer is not null then",
    replace: "if false then",
    tests: ["stories/idempotency.test"],
    caughtBy: "the same key and body return the same bytes, marked as replayed and free",
  },
];
