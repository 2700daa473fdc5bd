import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, mock, test } from "node:test";
import { Pennyblack } from "./sdk.ts";
import { describeRuntime } from "./settings.ts";

const names = ["PENNYBLACK_API_KEY", "PENNYBLACK_URL"] as const;
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

beforeEach(() => {
  process.env["PENNYBLACK_API_KEY"] = "pb_test_environment";
  process.env["PENNYBLACK_URL"] = "http://environment.test";
});
afterEach(() => {
  for (const name of names) Reflect.deleteProperty(process.env, name);
  mock.reset();
});

/** Replaces a global for the duration of a function. */
function withGlobal<Value>(name: "process" | "navigator", value: unknown, run: () => Value): Value {
  const original = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { value, configurable: true });
  try {
    return run();
  } finally {
    if (original) Object.defineProperty(globalThis, name, original);
  }
}

async function sentBy(create: (fetch: (url: unknown, init?: RequestInit) => Promise<Response>) => Pennyblack) {
  let sent: { url: string; headers: Headers } | undefined;
  const client = create((url, init) => {
    sent = { url: String(url), headers: new Headers(init?.headers) };
    return Promise.resolve(Response.json({}));
  });
  await client.wallet();
  return sent;
}

test("the key and the base URL are read from the environment", async () => {
  const sent = await sentBy((fetch) => new Pennyblack({ fetch }));
  assert.equal(sent?.url, "http://environment.test/v1/wallet");
  assert.equal(sent?.headers.get("authorization"), "Bearer pb_test_environment");
});

test("options take precedence over the environment", async () => {
  const sent = await sentBy((fetch) => new Pennyblack({ apiKey: "pb_test_own", baseUrl: "http://own.test", fetch }));
  assert.equal(sent?.url, "http://own.test/v1/wallet");
  assert.equal(sent?.headers.get("authorization"), "Bearer pb_test_own");
});

test("a missing setting is an error that names the option and the variable", () => {
  for (const [index, option] of (["apiKey", "baseUrl"] as const).entries()) {
    const variable = names[index] ?? "";
    const value = process.env[variable];
    Reflect.deleteProperty(process.env, variable);
    const message = `${option} is missing. Pass it to new Pennyblack({ ${option} }), or set ${variable}.`;
    assert.throws(() => new Pennyblack(), new TypeError(message));
    process.env[variable] = value;
  }
});

test("an undefined option is an error, because the environment may have the key of another wallet", () => {
  assert.throws(
    () => new Pennyblack({ apiKey: process.env["NOT_SET"] }),
    new TypeError(
      "apiKey is undefined. Pass a value to new Pennyblack({ apiKey }), or omit apiKey and set PENNYBLACK_API_KEY.",
    ),
  );
  assert.throws(() => new Pennyblack({ baseUrl: "" }), /^TypeError: baseUrl is empty\./);
});

test("works without process, and without permission to read the environment", () => {
  const options = { apiKey: "pb_test_key", baseUrl: "http://api.test" };
  const forbidden = {
    get env() {
      throw new Error("NotCapable");
    },
  };
  for (const value of [undefined, {}, forbidden]) {
    withGlobal("process", value, () => {
      assert.ok(new Pennyblack(options));
      assert.throws(() => new Pennyblack(), /^TypeError: apiKey is missing\./);
    });
  }
});

test("the User-Agent names the version and the runtime, except in browsers", async () => {
  const userAgent = `pennyblack-sdk/${version} node/${process.versions.node}`;
  assert.equal(describeRuntime(), userAgent);
  assert.equal((await sentBy((fetch) => new Pennyblack({ fetch })))?.headers.get("user-agent"), userAgent);
  const versions = { node: "24.0.0", bun: "1.4.4" };
  withGlobal("process", { versions }, () => assert.equal(describeRuntime(), `pennyblack-sdk/${version} bun/1.4.4`));
  withGlobal("process", undefined, () => assert.equal(describeRuntime(), `pennyblack-sdk/${version}`));
  withGlobal("navigator", { userAgent: "Mozilla/5.0" }, () => assert.equal(describeRuntime(), undefined));
});
