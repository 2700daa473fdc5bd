import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { openDataKey, sealNewDataKey } from "./data-key.ts";
import { createSecrets } from "./secrets.ts";

const secrets = createSecrets([randomBytes(32)]);

test("a data key gives the same keys each time, all different, and opens only for its owner", () => {
  const sealed = sealNewDataKey(secrets, "owner");
  const [first, second] = [1, 2].map(() =>
    Object.values(openDataKey(secrets, "owner", sealed)).map((key) => key.export().toString("hex")),
  );
  assert.deepEqual(first, second);
  assert.equal(new Set(first).size, first?.length);
  assert.throws(() => openDataKey(secrets, "another owner", sealed));
  assert.throws(() => openDataKey(createSecrets([randomBytes(32)]), "owner", sealed));
});

test("two data keys have nothing in common", () => {
  const keys = [1, 2].flatMap(() => Object.values(openDataKey(secrets, "owner", sealNewDataKey(secrets, "owner"))));
  assert.equal(new Set(keys.map((key) => key.export().toString("hex"))).size, keys.length);
});
