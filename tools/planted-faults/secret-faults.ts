import type { PlantedFault } from "./planted-fault.ts";

const rotation = "stories/secret-rotation.test";
const reseal = "stories/secret-reseal.test";
const bothDirections = "a retry is free on a server that writes under another version, in both directions";
const everyServer = "a version becomes the writing one only when every running server lists the same secret under it";
const neededVersions = "a server neither starts nor stays ready without the versions that the database needs";

export const secretFaults: PlantedFault[] = [
  {
    id: "fingerprint-without-key",
    description: "the fingerprint of a search does not depend on the Idempotency-Key",
    file: "server/src/search/idempotency.ts",
    find: "const keyedInput = `${scopedKey}\\0${JSON",
    replace: "const keyedInput = `${JSON",
    tests: ["src/search/idempotency.test"],
    caughtBy: "the fingerprint depends on the Idempotency-Key, the wallet and the mode",
  },
  {
    id: "claim-under-writing-version-only",
    description: "a claim is looked up under the writing version only",
    file: "server/src/search/idempotency.ts",
    find: "others.length === 0\n        ? undefined",
    replace: "others.length >= 0\n        ? undefined",
    tests: [rotation],
    caughtBy: bothDirections,
  },
  {
    id: "answer-under-writing-version-only",
    description: "a stored answer is opened under the writing version only",
    file: "server/src/search/idempotency.ts",
    find: "if (rest.length === 0) throw error;",
    replace: "if (rest.length >= 0) throw error;",
    tests: [rotation],
    caughtBy: bothDirections,
  },
  {
    id: "versions-in-batch-not-compared",
    description: "claims of two versions in one batch are not compared",
    file: "server/sql/idempotency.sql",
    find: "if o.hmac = any (idempotency_hmacs[:o.item - 1]) or exists (",
    replace: "if exists (",
    tests: [rotation],
    caughtBy: "one batch with claims of two versions holds a key once",
  },
  {
    id: "version-unlisted-by-server",
    description: "a version is written although a server does not list it",
    file: "server/sql/secrets.sql",
    find: "where not r.has_stopped and r.seen_at > since\n",
    replace: "where not r.has_stopped and r.seen_at > since and p_version = any (r.versions)\n",
    tests: [rotation],
    caughtBy: everyServer,
  },
  {
    id: "start-without-recent-version",
    description: "a server starts without the version under which claims of the last day were written",
    file: "server/sql/secrets.sql",
    find: "|| case when s.changed_at > clock_timestamp() - interval '25 hours' then s.previous_versions end\n  into",
    replace: "|| '{}'::smallint[]\n  into",
    tests: [rotation],
    caughtBy: neededVersions,
  },
  {
    id: "start-with-other-secret",
    description: "a server starts with another secret under the writing version",
    file: "server/src/db/report-secrets.ts",
    find: "!checkValueOf(writer).equals(state.check_value)",
    replace: "checkValueOf(writer).length !== 32",
    tests: [rotation],
    caughtBy: neededVersions,
  },
  {
    id: "top-up-retried-under-other-version",
    description: "a retry of a top-up under another version opens a second one",
    file: "server/sql/payments.sql",
    find: "p_key := coalesce(other_keys[existing], p_key);",
    replace: "",
    tests: [rotation],
    caughtBy: "a retry of a top-up is the same top-up under another version",
  },
  {
    id: "second-trial-after-rotation",
    description: "a second trial is given after a rotation",
    file: "server/sql/accounts.sql",
    find: "if length(p_address) > 32 then",
    replace: "if length(p_address) > 3200 then",
    tests: [reseal],
    caughtBy: "a person has one trial, under whichever version it was given",
  },
  {
    id: "webhook-secrets-sealed-under-old-version",
    description: "webhook secrets are sealed again under the old version",
    file: "server/src/lib/seal.ts",
    find: "return version === secrets.writer.version ? undefined : seal(secrets, purpose, text);",
    replace: "return version === 1 ? undefined : seal(secrets, purpose, text);",
    tests: [reseal],
    caughtBy: "webhook secrets open with the new version alone",
  },
];
