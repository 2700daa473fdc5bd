import assert from "node:assert/strict";
import { createCipheriv, createHmac, randomBytes } from "node:crypto";
import { test } from "node:test";
import { seal, unseal } from "./seal.ts";
import { createSecrets, type SecretBytes } from "./secrets.ts";

const versions: SecretBytes[] = [1, 2, 3].map((version) => ({ version, bytes: randomBytes(32) }));
const [one, two] = [createSecrets(versions.slice(0, 1)), createSecrets(versions.slice(1, 2))];

/** The format of releases without versions, with a chosen first byte. */
function sealWithoutVersion(firstByte: number): Buffer {
  const nonce = Buffer.concat([Buffer.of(firstByte), randomBytes(11)]);
  const key = createHmac("sha256", versions[0]?.bytes ?? "")
    .update("purpose")
    .digest();
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const sealed = [cipher.update("text"), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]);
}

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

test("values written before there were versions open, whatever their first byte is", () => {
  const all = createSecrets(versions);
  for (let byte = 0; byte < 256; byte += 1) {
    assert.deepEqual(unseal(all, "purpose", sealWithoutVersion(byte)), { text: "text", version: 1 });
  }
});

test("version 1 is written without a version, because the previous release reads it", () => {
  assert.equal(seal(one, "purpose", "text").length, sealWithoutVersion(0).length);
  const sealed = seal(two, "purpose", "text");
  assert.deepEqual([sealed[0], sealed.length], [2, sealWithoutVersion(0).length + 1]);
});

test("a value with any bit changed does not open", () => {
  const sealed = seal(two, "purpose", "text");
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8(changed.readUInt8(index) ^ 1, index);
    assert.throws(() => unseal(createSecrets(versions), "purpose", changed), `byte ${index}`);
  }
});
