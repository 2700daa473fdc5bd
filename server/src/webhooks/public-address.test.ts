import assert from "node:assert/strict";
import { test } from "node:test";
import { findUrlError } from "./check-url.ts";
import { isPublicAddress } from "./public-address.ts";

test("accepts public addresses", () => {
  for (const address of ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.32.0.1"]) {
    assert.ok(isPublicAddress(address), address);
  }
  for (const address of ["2606:4700:4700::1111", "2a00:1450:4001:81b::200e"])
    assert.ok(isPublicAddress(address), address);
});

test("rejects private, reserved and cloud metadata addresses in any notation", () => {
  const refused = `
    0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1
    169.254.169.254 169.254.0.1 100.64.0.1 100.100.100.200 100.127.255.255 168.63.129.16 192.0.0.192
    192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1
    ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808
    64:ff9b:1::1 fe80::1 fe80::1%eth0 2606:4700::1%eth0 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1
    2001::1 2002:7f00:1:: 3fff::1 100::1 localhost 127.1 2130706433 0x7f000001
  `.split(/\s+/);
  for (const address of refused) assert.ok(!isPublicAddress(address), address);
});

test("returns what is wrong with a webhook URL", () => {
  const fault = (url: string): string | undefined => findUrlError(url, { allowPrivate: false });
  assert.equal(fault("https://hooks.example.com/pennyblack?x=1"), undefined);
  assert.equal(fault("https://8.8.8.8:8443/"), undefined);
  for (const url of ["http://hooks.example.com/", "ftp://hooks.example.com/", "hooks.example.com", "", "https://"]) {
    assert.match(fault(url) ?? "none", /^must (be a URL|start with `https:\/\/`)$/, url);
  }
  assert.match(fault("https://user:pass@hooks.example.com/") ?? "none", /credentials/);
  assert.match(fault("https://hooks.example.com/#here") ?? "none", /fragment/);
  // The URL parser normalizes these to IP addresses.
  for (const host of ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:10.0.0.1]", "169.254.169.254"]) {
    assert.match(fault(`https://${host}/`) ?? "none", /public internet/, host);
  }
  assert.equal(findUrlError("http://127.0.0.1:3000/", { allowPrivate: true }), undefined);
});
