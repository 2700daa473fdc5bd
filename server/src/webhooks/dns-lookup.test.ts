import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { after, test } from "node:test";
import { startNameServer } from "../../test/support/services/name-server.ts";
import { createDnsLookup } from "./dns-lookup.ts";

const both = ["192.0.2.1", "192.0.2.2", "2001:db8:0:0:0:0:0:1"];
const names = await startNameServer({ "both.test": both, "ipv6.test": both.slice(2), "none.test": [] });
after(() => names.close());
const lookup = createDnsLookup([names.address]);

function lookUp(name: string): Promise<LookupAddress[]> {
  const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
  lookup(name, { all: true }, (error, found) => (error ? reject(error) : resolve(found as LookupAddress[])));
  return promise;
}

test("returns the addresses of both families, or of the one that a name has", async () => {
  const [ipv4, other, ipv6] = [
    { address: "192.0.2.1", family: 4 },
    { address: "192.0.2.2", family: 4 },
    { address: "2001:db8::1", family: 6 },
  ];
  assert.deepEqual(await lookUp("both.test"), [ipv4, other, ipv6]);
  assert.deepEqual(await lookUp("ipv6.test"), [ipv6]);
  await assert.rejects(lookUp("none.test"), { code: "ENODATA" });
});

test("returns the first address to a caller that asks for one", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  lookup("both.test", {}, (...results) => resolve(results));
  assert.deepEqual(await promise, [null, "192.0.2.1", 4]);
});
