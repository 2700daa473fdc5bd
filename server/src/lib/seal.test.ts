import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { reseal, seal, unseal } from "./seal.ts";
import { createSecrets } from "./secrets.ts";

const [one, two, three] = [randomBytes(32), randomBytes(32), randomBytes(32)];

test("a value is sealed under the first secret and opens wherever that one is listed", () => {
  const sealed = seal(createSecrets([two, one]), "purpose", "text");
  for (const listed of [[two], [one, two], [three, two, one]])
    assert.equal(unseal(createSecrets(listed), "purpose", sealed), "text");
  assert.throws(() => unseal(createSecrets([one, three]), "purpose", sealed));
  assert.throws(() => unseal(createSecrets([two]), "another purpose", sealed));
});

test("a value is sealed again only if it is under another secret than the first", () => {
  const sealed = seal(createSecrets([one]), "purpose", "text");
  assert.equal(reseal(createSecrets([one, two]), "purpose", sealed), undefined);
  const changed = reseal(createSecrets([two, one]), "purpose", sealed) ?? assert.fail();
  assert.equal(unseal(createSecrets([two]), "purpose", changed), "text");
  assert.throws(() => reseal(createSecrets([two]), "purpose", sealed));
});

test("a value with any bit changed does not open", () => {
  const secrets = createSecrets([one, two]);
  const sealed = seal(secrets, "purpose", "text");
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    assert.throws(() => unseal(secrets, "purpose", changed), `byte ${index}`);
  }
});
