import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Everything } from "./start-everything.ts";
import { welcome } from "./welcome.ts";

const everything: Everything = {
  addresses: {
    host: "127.0.0.1",
    port: 8081,
    opsHost: "127.0.0.1",
    opsPort: 9091,
    workerOpsPort: 20_000,
    url: "http://127.0.0.1:8081",
    opsUrl: "http://127.0.0.1:9091",
    workerOpsUrl: "http://127.0.0.1:20000",
  },
  account: {
    walletId: "wallet",
    liveKey: "pb_live_1",
    testKey: "pb_test_1",
    managementKey: "pb_mgmt_1",
    signInLink: "http://127.0.0.1:8081/console/sign-in#token=1",
    balance: 4_990_000n,
  },
  playMoneyUrl: "http://127.0.0.1:20001",
  upstreams: [],
  operatorToken: "operator-token",
  environmentFile: { path: ".pennyblack/dev.env", isDefault: true, remove: () => {} },
  sitesInProgress: [],
  keptIn: ".pennyblack/dev",
  processes: [],
};

test("prints the links of the docs and both consoles, and a first search", () => {
  const text = welcome(everything, "4.2");
  for (const link of ["8081/docs/", "8081/console/sign-in#token=1", "9091/console"]) {
    assert.ok(text.includes(`http://127.0.0.1:${link}\n`), `${link} in ${text}`);
  }
  assert.match(text, /Token: operator-token\n/);
  assert.match(text, /curl -s http:\/\/127\.0\.0\.1:8081\/v1\/search -H "Authorization: Bearer pb_test_1"/);
  assert.match(text, /4\.99 USD of play money\. More: http:\/\/127\.0\.0\.1:20001\n/);
  assert.match(text, /stay in \.pennyblack\/dev\/ until npm run dev -- --reset/);
  assert.match(text, /New link: npm run admin -- console sign-in-link --email you@pennyblack\.test\n/);
});

test("names sites that are being built, and the settings file of a second dev server", () => {
  const environmentFile = { path: ".pennyblack/dev-8081.env", isDefault: false, remove: () => {} };
  const second = { ...everything, environmentFile, sitesInProgress: ["docs"], keptIn: undefined };
  const text = welcome(second, "4.2");
  assert.match(text, /8081\/docs\/ {3}being built/);
  assert.match(text, /DEV_ENV=\.pennyblack\/dev-8081\.env npm run admin -- --help/);
  assert.match(text, /the keys above end with this one/);
});

test("deploy/follow-install.sh finds the start, the URL and the live key in it", () => {
  const script = readFileSync(new URL("../../../deploy/follow-install.sh", import.meta.url), "utf8");
  const text = welcome(everything, "4.2");
  const [, started = ""] = /until grep -q "(.+?)"/.exec(script) ?? [];
  const labels = [...script.matchAll(/sed -n 's\/\^ \*(.+?)  \*/g)].map(([, label = ""]) => label);
  assert.equal(labels.length, 2);
  for (const part of [started, ...labels]) assert.ok(part !== "" && text.includes(part), `${part} in ${text}`);
});
