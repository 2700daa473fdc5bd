import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { seal, unseal } from "./seal.ts";
import { createSecrets, type SecretBytes } from "./secrets.ts";

const versions: SecretBytes[] = [1, 2, 3].map((version) => ({ version, bytes: randomBytes(32) }));
const two = createSecrets(versions.slice(1, 2));

test("a value opens under every listed version and names the one that sealed it", () => {
  const all = createSecrets(versions);
  for (const { version } of versions) {
    assert.ok(all.use(version));
    const sealed = seal(all, "purpose", "text");
    for (const reader of [1, 2, 3]) {
      assert.ok(all.use(reader));
      assert.deepEqual(unseal(all, "purpose", sealed), { text: "text", version });
    }
    assert.throws(() => unseal(all, "another purpose", sealed));
    const others = createSecrets(versions.filter((other) => other.version !== version));
    assert.throws(() => unseal(others, "purpose", sealed));
  }
});

test("a value with any bit changed does not open", () => {
  const sealed = seal(two, "purpose", "text");
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    assert.throws(() => unseal(createSecrets(versions), "purpose", changed), `byte ${index}`);
  }
});
