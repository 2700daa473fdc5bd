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
