import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { adapters } from "../providers/providers.ts";
import { ConfigFaults, readConfig, serverSettings, workerSettings } from "./config.ts";

const secret = Buffer.alloc(32, 1).toString("base64");
const minimal = {
  DATABASE_URL: "postgres://ledger@db/pb",
  PENNYBLACK_TENANT_DATABASE_URL: "postgresql://tenant@db/pb",
  PENNYBLACK_SECRET: secret,
  PENNYBLACK_KEY_PEPPERS: `1:${secret}`,
};
const worker = {
  ...minimal,
  PENNYBLACK_WORKER_DATABASE_URL: "postgres://worker@db/pb",
  PENNYBLACK_DIRECT_DATABASE_URL: "postgres://owner@db/pb",
};

function faultsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(adapters, serverSettings, environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigFaults) return error.faults;
    throw error;
  }
}

test("only four settings are required", () => {
  const config = readConfig(adapters, serverSettings, minimal);
  assert.equal(config.port, 8080);
  assert.equal(config.opsHost, "127.0.0.1");
  assert.equal(config.redisUrl, undefined);
  assert.ok(Object.isFrozen(config));
});

test("reports all faults at once", () => {
  const faults = faultsOf({
    ...minimal,
    PORT: "eighty",
    PENNYBLACK_SECRET: "short",
    PENNYBLACK_TYPO: "x",
    PENNYBLACK_LOG_LEVEL: "loud",
  });
  assert.equal(faults.length, 4);
  assert.equal(faultsOf({}).length, 4);
});

test("rejects numbers out of range or in another notation", () => {
  for (const port of ["-1", "65536", "1e3", "80.5", "0x50", "8080 8081", "Infinity"]) {
    assert.match(faultsOf({ ...minimal, PORT: port })[0] ?? "none", /^PORT must be an integer from 0 to 65535$/, port);
  }
  assert.deepEqual(faultsOf({ ...minimal, PORT: " 9000 " }), []);
});

test("signing keys are distinct seeds of 32 bytes, and roots need one", () => {
  const other = Buffer.alloc(32, 2).toString("base64");
  const keys = { ...minimal, PENNYBLACK_SIGNING_KEYS: `${secret}, ${other}` };
  assert.deepEqual(readConfig(adapters, serverSettings, keys).signingSeeds, [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]);
  for (const [text, fault] of [
    ["short", /^PENNYBLACK_SIGNING_KEYS must be 32 random bytes in base64/],
    [Buffer.alloc(33).toString("base64"), /^PENNYBLACK_SIGNING_KEYS must be 32 random bytes/],
    [`${secret},${secret}`, /^PENNYBLACK_SIGNING_KEYS names a key twice/],
  ] as const) {
    assert.match(faultsOf({ ...minimal, PENNYBLACK_SIGNING_KEYS: text })[0] ?? "none", fault);
  }
  assert.throws(
    () => readConfig(adapters, ["roots"], { PENNYBLACK_ROOTS: "/roots" }),
    /no effect without PENNYBLACK_SIGNING_KEYS/,
  );
});

test("the cost cap of a vendor is an amount per day or month", () => {
  const capOf = (text: string) =>
    readConfig(adapters, ["upstreams"], {
      ...minimal,
      PENNYBLACK_BRAVE_KEY: "key",
      PENNYBLACK_BRAVE_CAP: text,
    }).upstreams.find(({ name }) => name === "brave")?.cap;
  assert.deepEqual(capOf("20.00/day"), { amount: 20_000_000n, period: "day" });
  assert.deepEqual(capOf("500/month"), { amount: 500_000_000n, period: "month" });
  for (const text of ["20", "20.00/hour", "0/day", "-1/day", "20.00 / day", "1.0000001/day"]) {
    const rule = 'must be an amount in USD per day or month, such as "20.00/day"';
    const faults = faultsOf({ ...minimal, PENNYBLACK_BRAVE_KEY: "key", PENNYBLACK_BRAVE_CAP: text });
    assert.deepEqual(faults, [`PENNYBLACK_BRAVE_CAP ${rule}`], text);
  }
  assert.deepEqual(faultsOf({ ...minimal, PENNYBLACK_BRAVE_CAP: "1/day" }), [
    "PENNYBLACK_BRAVE_CAP has no effect without PENNYBLACK_BRAVE_KEY",
  ]);
});

test("a database URL has one or more hosts, none of them empty", () => {
  for (const hosts of ["db1,db2", "db1:5432,db2:5433", "[::1]:5432,127.0.0.1"])
    assert.deepEqual(faultsOf({ ...minimal, DATABASE_URL: `postgres://ledger:a%40b@${hosts}/pb` }), [], hosts);
  for (const hosts of ["db1,", ",db1", "db1:,db2:port"])
    assert.match(
      faultsOf({ ...minimal, DATABASE_URL: `postgres://ledger@${hosts}/pb` })[0] ?? "none",
      /^DATABASE_URL /,
    );
  assert.match(faultsOf({ ...minimal, DATABASE_URL: "mysql://db1,db2/pb" })[0] ?? "none", /must be a URL that starts/);
});

test("the Stripe key enables payments, and the limits of top-ups are checked", () => {
  const off = readConfig(adapters, serverSettings, minimal);
  assert.deepEqual([off.stripeSecretKey, off.stripeWebhookSecrets], [undefined, []]);
  assert.deepEqual([off.topUpMin, off.topUpMax], [5_000_000n, 1_000_000_000n]);
  const keyOnly = { ...minimal, PENNYBLACK_STRIPE_SECRET_KEY: "sk_live_12345678" };
  assert.deepEqual(faultsOf(keyOnly), [
    "PENNYBLACK_PAYMENTS_DATABASE_URL is required with PENNYBLACK_STRIPE_SECRET_KEY",
  ]);
  const key = { ...keyOnly, PENNYBLACK_PAYMENTS_DATABASE_URL: "postgres://pennyblack_payments@db/pennyblack" };
  const on = readConfig(adapters, serverSettings, {
    ...key,
    PENNYBLACK_STRIPE_WEBHOOK_SECRET: "whsec_first, whsec_second",
  });
  assert.deepEqual(on.stripeWebhookSecrets, ["whsec_first", "whsec_second"]);
  for (const [name, value] of [
    ["PENNYBLACK_STRIPE_SECRET_KEY", "a b c d e f g"],
    ["PENNYBLACK_STRIPE_WEBHOOK_SECRET", "whsec_first,,"],
    ["PENNYBLACK_TOP_UP_MIN", "0.49"],
    ["PENNYBLACK_TOP_UP_MIN", "1000.01"],
    ["PENNYBLACK_TOP_UP_MAX", "4.99"],
    ["PENNYBLACK_TOP_UP_MAX", "5.001"],
  ] as const) {
    const faults = faultsOf({ ...key, [name]: value });
    assert.equal(faults.length, 1, `${name} ${value}`);
    assert.ok(!faults[0]?.includes(value), "a fault never contains the value");
  }
  const secretOnly = { ...minimal, PENNYBLACK_STRIPE_WEBHOOK_SECRET: "whsec_first" };
  assert.match(faultsOf(secretOnly)[0] ?? "none", /has no effect without/);
});

test("rejects unknown PENNYBLACK_ settings and ignores other variables", () => {
  for (const [name, hint] of [
    ["PENNYBLACK_SERCET", " (did you mean PENNYBLACK_SECRET?)"],
    ["PENNYBLACK_SEARX_URL", " (did you mean PENNYBLACK_SEARXNG_URL?)"],
    ["PENNYBLACK_REDIS_URL", " (did you mean REDIS_URL?)"],
    ["PENNYBLACK_COLOUR", ""],
  ] as const)
    assert.deepEqual(faultsOf({ ...minimal, [name]: "x" }), [`${name} is not a known setting${hint}`]);
  assert.deepEqual(faultsOf({ ...minimal, PATH: "/bin", POSTGRES_URL: "x", PENNYBLACK_TEST_REDIS_URL: "x" }), []);
  assert.deepEqual(faultsOf({ ...minimal, PENNYBLACK_API_KEY: "x", PENNYBLACK_URL: "http://localhost:8080" }), []);
});

test("names the reason why a setting was removed, and none of them exists", () => {
  for (const [name, reason] of [
    ["PENNYBLACK_WALLET_RATE", "no operator needed another value"],
    ["PENNYBLACK_BRAVE_URL", "requests to a vendor go to its own URL"],
  ] as const)
    assert.deepEqual(faultsOf({ ...minimal, [name]: "x" }), [`${name} was removed: ${reason}`]);
  const source = readFileSync(new URL("unknown-settings.ts", import.meta.url), "utf8");
  const removed = [...source.matchAll(/^ {2}([A-Z_]+): /gm)].map(([, name]) => `PENNYBLACK_${name}`);
  const faults = faultsOf({ ...minimal, ...Object.fromEntries(removed.map((name) => [name, "x"])) });
  assert.deepEqual([faults.length, faults.filter((fault) => !/ was removed: /.test(fault))], [removed.length, []]);
});

test("accepts settings of the worker and the admin command in the server's environment, and vice versa", () => {
  assert.deepEqual(faultsOf(worker), []);
  assert.doesNotThrow(() => readConfig(adapters, workerSettings, worker));
});

test("a fault never contains the value", () => {
  const marker = "hunter2";
  const faults = faultsOf({
    DATABASE_URL: marker,
    PENNYBLACK_TENANT_DATABASE_URL: `http://${marker}`,
    PENNYBLACK_SECRET: marker,
    PENNYBLACK_KEY_PEPPERS: `${marker}:${marker}`,
    PENNYBLACK_SEARXNG_URL: `http://${marker}@x`,
    PENNYBLACK_TRUSTED_PROXIES: marker,
    PENNYBLACK_LOG_LEVEL: marker,
    PORT: marker,
  });
  assert.equal(faults.length, 8);
  assert.ok(!faults.join().includes(marker));
});

test("an upstream is enabled by its key, or by its URL if it has no default URL", () => {
  const namesOf = (settings: Record<string, string>) =>
    readConfig(adapters, ["upstreams"], settings).upstreams.map(({ name }) => name);
  assert.deepEqual(namesOf({}), []);
  assert.deepEqual(namesOf({ PENNYBLACK_SEARXNG_URL: "http://searx:8888/" }), ["searxng"]);
  const both = { PENNYBLACK_BRAVE_KEY: "secret", PENNYBLACK_SEARXNG_URL: "http://searx:8888" };
  assert.deepEqual(namesOf(both), ["searxng", "brave"], "cheapest first");
  assert.deepEqual(namesOf({ ...both, PENNYBLACK_UPSTREAMS: "brave, searxng" }), ["brave", "searxng"]);
  assert.deepEqual(namesOf({ ...both, PENNYBLACK_UPSTREAMS: "brave" }), ["brave"]);
});

test("an upstream of a vendor can have several keys, of which at most eight characters are shown", () => {
  const keysOf = (settings: Record<string, string>) =>
    readConfig(adapters, ["upstreams"], settings).upstreams.flatMap(({ keys }) =>
      keys.map(({ label, provider }) => [label, JSON.stringify(provider.request({ query: "cats", n: 1 }, 1))] as const),
    );
  const [first, second] = ["BSAfirst-key-of-brave-1234", "short-key"];
  const keys = keysOf({ PENNYBLACK_BRAVE_KEY: ` ${first}, ${second}` });
  assert.deepEqual(
    keys.map(([label]) => label),
    ["BSAf...1234", "..."],
  );
  assert.ok(keys[0]?.[1].includes(first) && !keys[0][1].includes(second) && keys[1]?.[1].includes(`"${second}"`));
  for (const [value, rule] of [
    [`${first},`, "has an empty key in its list"],
    [`${first},${first}`, "names a key twice"],
    [`${first},cl\u00e9`, "must be printable ASCII"],
  ] as const)
    assert.deepEqual(faultsOf({ ...minimal, PENNYBLACK_BRAVE_KEY: value }), [`PENNYBLACK_BRAVE_KEY ${rule}`]);
  // The password of an index can contain a comma, and no part of it is shown.
  const index = { PENNYBLACK_OPENSEARCH_URL: "http://search:9200/index", PENNYBLACK_OPENSEARCH_KEY: "admin:a,b" };
  assert.deepEqual(
    keysOf(index).map(([label]) => label),
    [undefined],
  );
});

test("rejects an order with unconfigured or repeated providers, and settings without effect", () => {
  const faultsWith = (settings: Record<string, string>) => faultsOf({ ...minimal, ...settings });
  const rule = "PENNYBLACK_UPSTREAMS must list configured providers (brave), each once";
  assert.deepEqual(faultsWith({ PENNYBLACK_BRAVE_KEY: "x", PENNYBLACK_UPSTREAMS: "searxng" }), [rule]);
  assert.deepEqual(faultsWith({ PENNYBLACK_BRAVE_KEY: "x", PENNYBLACK_UPSTREAMS: "brave,brave" }), [rule]);
  assert.deepEqual(faultsWith({ PENNYBLACK_OPENSEARCH_KEY: "x" }), [
    "PENNYBLACK_OPENSEARCH_KEY has no effect without PENNYBLACK_OPENSEARCH_URL",
  ]);
  assert.match(faultsWith({ PENNYBLACK_BRAVE_KEY: "clé" })[0] ?? "", /^PENNYBLACK_BRAVE_KEY must be printable ASCII$/);
  assert.match(faultsWith({ PENNYBLACK_SEARXNG_URL: "searx" })[0] ?? "", /^PENNYBLACK_SEARXNG_URL must be a URL/);
  assert.match(faultsWith({ PENNYBLACK_BRAVE_TOKEN: "x" })[0] ?? "", /is not a known setting/);
});

test("an operator needs a unique name and a token of at least 32 characters", () => {
  const token = "t".repeat(32);
  const { operators } = readConfig(adapters, ["operators"], {
    PENNYBLACK_OPERATORS: `alice:${token}, bob@example.org:${token}`,
  });
  assert.deepEqual(
    operators.map(({ name }) => name),
    ["alice", "bob@example.org"],
  );
  for (const text of ["alice", "alice:short", `alice:${token},alice:${token}`, `:${token}`]) {
    assert.equal(faultsOf({ ...minimal, PENNYBLACK_OPERATORS: text }).length, 1, text);
  }
});

test("peppers keep their order, of which the first one writes, and duplicates are rejected", () => {
  const { keyPeppers } = readConfig(adapters, serverSettings, {
    ...minimal,
    PENNYBLACK_KEY_PEPPERS: `1:${secret}, 12:${secret},2:${secret}`,
  });
  assert.deepEqual(
    keyPeppers.map((pepper) => pepper.version),
    [1, 12, 2],
  );
  for (const text of [`1:${secret},1:${secret}`, secret, `0:${secret}`, "1:", `1:${secret},`, "1:c2hvcnQ="]) {
    assert.equal(faultsOf({ ...minimal, PENNYBLACK_KEY_PEPPERS: text }).length, 1, text);
  }
});

test("secrets keep their order, of which the first one writes, and duplicates and versions are rejected", () => {
  const read = (text: string) => readConfig(adapters, serverSettings, { ...minimal, PENNYBLACK_SECRET: text }).secrets;
  const listed = [1, 2].map((byte) => Buffer.alloc(32, byte));
  assert.deepEqual(read(listed.map((bytes) => bytes.toString("base64")).join(", ")), listed);
  for (const text of [`${secret},${secret}`, `1:${secret}`, `${secret},`, ",", "c2hvcnQ="])
    assert.equal(faultsOf({ ...minimal, PENNYBLACK_SECRET: text }).length, 1, text);
});

test("our own URLs are http or https without credentials, query or fragment, and lose a trailing slash", () => {
  const read = (url: string) =>
    readConfig(adapters, serverSettings, { ...minimal, PENNYBLACK_PUBLIC_URL: url }).publicUrl;
  assert.equal(read("https://search.test/"), "https://search.test");
  assert.equal(read("https://search.test/api/"), "https://search.test/api");
  for (const url of [
    "search.test",
    "ftp://x",
    "https://u:p@x",
    "https://x/?a=1",
    "https://x/#a",
    "javascript:alert(1)",
  ]) {
    assert.equal(faultsOf({ ...minimal, PENNYBLACK_PUBLIC_URL: url }).length, 1, url);
  }
});

test("trusted proxies are IP addresses or networks", () => {
  assert.deepEqual(faultsOf({ ...minimal, PENNYBLACK_TRUSTED_PROXIES: "10.0.0.0/8, 127.0.0.1,2001:db8::/32" }), []);
  for (const text of [
    "10.0.0.0/33",
    "10.0.0.0/",
    "10.0.0.0/8/9",
    "10.0.0.0/1.5",
    "10.0.0/8",
    "balancer",
    "::/129",
    "10.0.0.1,",
  ]) {
    assert.equal(faultsOf({ ...minimal, PENNYBLACK_TRUSTED_PROXIES: text }).length, 1, text);
  }
});

test("the security contact is a mailto: or https: URL", () => {
  assert.deepEqual(faultsOf({ ...minimal, PENNYBLACK_SECURITY_CONTACT: "mailto:security@search.test" }), []);
  const [fault] = faultsOf({ ...minimal, PENNYBLACK_SECURITY_CONTACT: "security@search.test" });
  assert.equal(fault, "PENNYBLACK_SECURITY_CONTACT must be a URL that starts with mailto: or https:");
});

test("email needs a server and a sender, and faults do not contain the password", () => {
  const [url, from] = ["smtps://alerts:hunter2@mail.example", "Pennyblack <alerts@example.com>"];
  const read = (environment: Record<string, string>) =>
    readConfig(adapters, workerSettings, { ...worker, ...environment });
  assert.equal(read({ PENNYBLACK_SMTP_URL: url, PENNYBLACK_MAIL_FROM: from }).smtpUrl, url);
  assert.equal(read({}).webhooksAllowPrivate, false);
  for (const [environment, fault] of [
    [{ PENNYBLACK_SMTP_URL: url }, /^.*\n {2}- PENNYBLACK_SMTP_URL has no effect without PENNYBLACK_MAIL_FROM$/],
    [{ PENNYBLACK_MAIL_FROM: from }, /PENNYBLACK_MAIL_FROM has no effect without PENNYBLACK_SMTP_URL$/],
    [{ PENNYBLACK_SMTP_URL: "mail:hunter2", PENNYBLACK_MAIL_FROM: from }, /must be a URL that starts with smtp: or/],
    [{ PENNYBLACK_SMTP_URL: url, PENNYBLACK_MAIL_FROM: "alerts" }, /PENNYBLACK_MAIL_FROM must look like/],
    [{ PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "yes" }, /must be one of true, false$/],
  ] as const) {
    assert.throws(() => read(environment), fault);
    assert.throws(
      () => read(environment),
      (error: Error) => !error.message.includes("hunter2"),
    );
  }
});
