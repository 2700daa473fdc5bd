import assert from "node:assert/strict";
import { test } from "node:test";
import { createSigner, verifyJws } from "./sign-jws.ts";

test("the key of RFC 8037, appendix A, has the published public key and thumbprint", () => {
  const seed = Buffer.from("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "base64url");
  assert.deepEqual(createSigner([seed])?.jwks.keys, [
    {
      crv: "Ed25519",
      kty: "OKP",
      x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
      alg: "EdDSA",
      use: "sig",
    },
  ]);
  assert.equal(createSigner([]), undefined);
});

test("a signature is valid only for its type, its payload and a listed key", async () => {
  const signer = createSigner([Buffer.alloc(32, 1)]);
  const other = createSigner([Buffer.alloc(32, 2)]);
  assert.ok(signer && other);
  const jws = await signer.sign("pennyblack-hour", { root: "ab" });
  assert.deepEqual(await verifyJws(jws, "pennyblack-hour", signer.jwks), { root: "ab" });
  assert.equal(await verifyJws(jws, "pennyblack-day", signer.jwks), undefined);
  assert.equal(await verifyJws(jws, "pennyblack-hour", other.jwks), undefined);
  assert.equal(await verifyJws(`${jws.slice(0, -4)}AAAA`, "pennyblack-hour", signer.jwks), undefined);
});
