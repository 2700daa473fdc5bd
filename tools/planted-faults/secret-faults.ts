import type { PlantedFault } from "./planted-fault.ts";

const rotation = "stories/secret-rotation.test";
const deletion = "stories/delete-data-keys.test";
const dataKeys = "src/wallet/data-keys.test";
const noneTwice =
  "of 1,000 searches and 100 top-ups that are retried on a server with another first secret, none is charged twice";
const everyProcess = "stored values are encrypted again only if every server and worker lists the first secret";
const listed = "a server neither starts nor charges without the secret under which a data key is encrypted";
const noneLeft =
  "after the deletion of an account, none of its claims, answers, end-user rows and data keys is in the database";

export const secretFaults: PlantedFault[] = [
  {
    id: "fingerprint-without-key",
    description: "the fingerprint of a search does not depend on the Idempotency-Key",
    file: "server/src/search/idempotency.ts",
    find: "const keyedInput = `${scopedKey}\\0${JSON",
    replace: "const keyedInput = `${mode}\\0${JSON",
    tests: ["attack/canary.test"],
    caughtBy:
      "with the database and the secret, an answer is opened and a query confirmed only with its Idempotency-Key",
  },
  {
    id: "answer-without-key",
    description: "the encryption of a stored answer does not depend on the Idempotency-Key",
    file: "server/src/search/idempotency.ts",
    find: "seal: (body) => encrypt(hmac(dataKey.answer, scopedKey), body)",
    replace: "seal: (body) => encrypt(hmac(dataKey.answer, mode), body)",
    tests: ["attack/canary.test"],
    caughtBy:
      "with the database and the secret, an answer is opened and a query confirmed only with its Idempotency-Key",
  },
  {
    id: "keys-without-label",
    description: "all keys that are derived from a data key are the same",
    file: "server/src/lib/data-key.ts",
    find: 'createHmac("sha256", key).update(label)',
    replace: 'createHmac("sha256", key).update("")',
    tests: ["src/lib/data-key.test"],
    caughtBy: "a data key gives the same keys each time, all different, and opens only for its owner",
  },
  {
    id: "claim-under-first-secret",
    description: "the claim of a search depends on the first secret of the server",
    file: "server/src/app/search-app.ts",
    find: "makeClaim(await dataKeys.open(caller), caller.mode",
    replace: "makeClaim({ ...(await dataKeys.open(caller)), claim: secrets.writer.key }, caller.mode",
    tests: [rotation],
    caughtBy: noneTwice,
  },
  {
    id: "top-up-under-first-secret",
    description: "the claim of a top-up depends on the first secret of the server",
    file: "server/src/payments/top-up-routes.ts",
    find: 'hmacOf({ key: hmacKey }, "key", key)',
    replace: 'hmacOf((dependencies as any).secrets.writer, "key", key)',
    tests: [rotation],
    caughtBy: noneTwice,
  },
  {
    id: "data-key-created-twice",
    description: "the second of two servers that create a data key at the same time replaces it",
    file: "server/sql/data-keys.sql",
    find: "where not pb.is_deleted(pb.own_wallet())\n  on conflict do nothing;",
    replace:
      "where not pb.is_deleted(pb.own_wallet())\n  on conflict (wallet_id) do update set sealed = excluded.sealed;",
    tests: [dataKeys],
    caughtBy: "two servers that found no data key get the same one",
  },
  {
    id: "data-key-replaced-by-server",
    description: "a server that cannot open a data key uses another one",
    file: "server/src/wallet/data-keys.ts",
    find: 'onUnopened();\n      throw new Problem("ledger_unavailable", { cause });',
    replace: "return openDataKey(secrets, walletId, sealNewDataKey(secrets, walletId));",
    tests: [rotation],
    caughtBy: listed,
  },
  {
    id: "data-key-of-deleted-account",
    description: "a wallet of a deleted account gets a data key",
    file: "server/sql/data-keys.sql",
    find: " where not pb.is_deleted(pb.own_wallet())\n",
    replace: "\n",
    tests: [dataKeys],
    caughtBy: "a wallet of a deleted account gets no data key",
  },
  {
    id: "sealed-before-every-process-can-open",
    description: "stored values are encrypted under a secret that a server does not list",
    file: "server/src/admin/secret-commands.ts",
    find: "({ secretIds }) => !secretIds.includes(writer.id)",
    replace: "({ secretIds }) => secretIds.length === 0",
    tests: [rotation],
    caughtBy: everyProcess,
  },
  {
    id: "start-without-secret",
    description: "a server starts without the secret under which data keys are encrypted",
    file: "server/src/db/find-unlisted-secret.ts",
    find: "!all.some(({ id }) => id === row.id)",
    replace: "all.length === 0",
    tests: [rotation],
    caughtBy: listed,
  },
  {
    id: "sealed-under-last-secret",
    description: "only values under the last secret count as current",
    file: "server/src/lib/seal.ts",
    find: "secretIdOf(sealed) === secrets.writer.id ? undefined",
    replace: "secretIdOf(sealed) === secrets.all.at(-1)?.id ? undefined",
    tests: [rotation],
    caughtBy: noneTwice,
  },
  {
    id: "second-trial-after-rotation",
    description: "a second trial is given after a rotation",
    file: "server/src/accounts/trial-addresses.ts",
    find: 'createHmac("sha256", trialAddress)',
    replace: 'createHmac("sha256", secrets.writer.key)',
    tests: ["stories/secret-reseal.test"],
    caughtBy: "a person has one trial, before and after a rotation",
  },
  {
    id: "trial-key-replaced",
    description: "the key of addresses that had a trial is replaced although it can be opened",
    file: "server/src/wallet/data-keys.ts",
    find: "rows.filter((row) => row.id !== installation || !isOpened(secrets, row))",
    replace: "rows",
    tests: [dataKeys],
    caughtBy:
      "several pages of keys are sealed again or replaced, and the installation's key is replaced only if it is lost",
  },
  {
    id: "claims-kept-after-replacement",
    description: "claims under a leaked data key are kept",
    file: "server/sql/data-keys.sql",
    find: "  delete from pb.idempotency c where c.wallet_id = any (wallet_ids);\n",
    replace: "",
    tests: [rotation],
    caughtBy: "data keys are replaced after a leak, which deletes all claims",
  },
  {
    id: "data-key-kept-after-deletion",
    description: "the data keys of a deleted account are kept",
    file: "server/sql/accounts.sql",
    find: "  delete from pb.data_keys d where d.wallet_id = any (own_wallets);\n",
    replace: "",
    tests: [deletion],
    caughtBy: noneLeft,
  },
  {
    id: "claims-kept-after-deletion",
    description: "the claims and answers of a deleted account are kept",
    file: "server/sql/accounts.sql",
    find: "  delete from pb.idempotency c where c.wallet_id = any (own_wallets);\n",
    replace: "",
    tests: [deletion],
    caughtBy: noneLeft,
  },
  {
    id: "end-users-counted-after-deletion",
    description: "a count of usage adds the end users of a deleted account again",
    file: "server/sql/usage.sql",
    find: " and s.wallet_id <> all (deleted)",
    replace: "",
    tests: [deletion],
    caughtBy: noneLeft,
  },
  {
    id: "deletion-beside-count",
    description: "a deletion does not wait for a count of end users in progress",
    file: "server/sql/accounts.sql",
    find: "  perform from pb.usage_watermark for share;\n",
    replace: "",
    tests: [deletion],
    caughtBy: "a deletion waits for a count of end users in progress, and deletes its rows",
  },
];
