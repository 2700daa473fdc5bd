// Every import rule is shown a small house that breaks it, and one that does not.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { checkImports } from "./check-imports.ts";

const empty = "export const a = 1;";
const value = (path: string) => `import { a } from "${path}";\nexport const b = a;`;
const type = (path: string) => `import type { a } from "${path}";\nexport type B = typeof a;`;

test("a house that keeps the rules passes, and every file was looked at", async (context) => {
  const { faults, moduleCount } = await check(context, {
    "server/src/main.ts": value("./app.ts"),
    "server/src/app.ts": `${value("./search/search.ts")}\nimport { a as c } from "./wallet/hold.ts";\nexport const d = c;`,
    "server/src/search/search.ts": type("../wallet/wallet.ts"),
    "server/src/wallet/wallet.ts": value("../lib/money.ts"),
    "server/src/wallet/hold.ts": value("../db/pool.ts"),
    "server/src/wallet/wallet.test.ts": value("../keys/secret.ts"),
    "server/src/keys/secret.ts": value("../http/reply.ts"),
    "server/src/http/reply.ts": value("../problems.ts"),
    "server/src/jobs/main.ts": value("../wallet/hold.ts"),
    "server/src/providers/call-provider.ts": 'import { request } from "undici";\nexport const b = request;',
    "server/src/db/pool.ts": "export const a = { b: 1 } as const satisfies object;",
    "server/src/lib/money.ts": empty,
    "server/src/problems.ts": empty,
    "bench/naive-server.ts": value("../server/src/main.ts"),
  });
  assert.deepEqual(faults, []);
  assert.equal(moduleCount, 14);
});

test("a cruise over nothing fails", async (context) => {
  assert.deepEqual((await check(context, {})).faults, ["no source files were found"]);
});

test("a file that cannot be read fails", async (context) => {
  const house = { "server/src/lib/broken.ts": "export const = ;" };
  await assert.rejects(check(context, house), /broken\.ts/);
});

test("an import that the cruise leaves out fails", async (context) => {
  const house = { "server/src/lib/a.ts": `export const text = \`\n${value("./b.ts")}\n\`;` };
  const { faults } = await check(context, house);
  assert.deepEqual(faults, ['server/src/lib/a.ts: the cruise did not see its import of "./b.ts"']);
});

const undici = 'import { request } from "undici";\nexport const b = request;';
const signing = 'import { Webhook } from "standardwebhooks";\nexport const b = Webhook;';
const stripe = 'import { Stripe } from "stripe";\nexport const b = Stripe;';
const openid = 'import { discovery } from "openid-client";\nexport const b = discovery;';
const faults: [rule: string, from: string, text: string, to: string][] = [
  ["slices-by-the-front-door", "server/src/usage/usage.ts", value("../wallet/hold.ts"), "server/src/wallet/hold.ts"],
  ["slices-by-the-front-door", "server/src/search/search.ts", type("../wallet/hold.ts"), "server/src/wallet/hold.ts"],
  [
    "search-is-handed-its-neighbours",
    "server/src/search/search.ts",
    value("../keys/keys.ts"),
    "server/src/keys/keys.ts",
  ],
  [
    "providers-and-ranking-stand-alone",
    "server/src/providers/brave.ts",
    value("../db/pool.ts"),
    "server/src/db/pool.ts",
  ],
  ["providers-and-ranking-stand-alone", "server/src/ranking/rank.ts", value("../config.ts"), "server/src/config.ts"],
  ["nothing-below-knows-the-slices", "server/src/http/reply.ts", value("../keys/keys.ts"), "server/src/keys/keys.ts"],
  [
    "nothing-below-knows-the-slices",
    "server/src/jobs/run.ts",
    type("../wallet/wallet.ts"),
    "server/src/wallet/wallet.ts",
  ],
  ["nothing-below-knows-http", "server/src/db/pool.ts", value("../http/reply.ts"), "server/src/http/reply.ts"],
  ["lib-imports-nothing-of-ours", "server/src/lib/money.ts", value("../problems.ts"), "server/src/problems.ts"],
  ["config-and-problems-are-leaves", "server/src/problems.ts", value("./db/pool.ts"), "server/src/db/pool.ts"],
  ["only-processes-import-app", "server/src/usage/usage.ts", value("../app.ts"), "server/src/app.ts"],
  ["nobody-imports-a-process", "server/src/app.ts", value("./main.ts"), "server/src/main.ts"],
  ["one-file-talks-to-upstreams", "server/src/search/routing.ts", undici, "server/src/lib/a.ts"],
  ["one-file-talks-to-upstreams", "server/src/providers/brave.ts", undici, "server/src/lib/a.ts"],
  ["one-file-talks-to-upstreams", "server/src/webhooks/webhooks.ts", undici, "server/src/lib/a.ts"],
  ["one-file-signs-webhooks", "server/src/webhooks/webhooks.ts", signing, "server/src/lib/a.ts"],
  ["one-file-talks-to-stripe", "server/src/payments/charge.ts", stripe, "server/src/lib/a.ts"],
  ["one-file-talks-to-openid-providers", "server/src/console/sign-in.ts", openid, "server/src/lib/a.ts"],
  ["no-raw-sockets-in-slices", "server/src/webhooks/send.ts", value("node:https"), "server/src/lib/a.ts"],
  ["no-tests-in-the-product", "server/src/app.ts", value("../test/clock.ts"), "server/test/clock.ts"],
  ["server-stands-alone", "server/src/app.ts", value("../../sdk/src/sdk.ts"), "sdk/src/sdk.ts"],
  ["sdk-imports-nothing", "sdk/src/sdk.ts", undici, "server/src/lib/a.ts"],
  ["cli-and-mcp-stand-on-sdk", "cli/src/main.ts", value("../../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["console-talks-http", "console/src/main.ts", value("../../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["tools-stand-alone", "tools/guard.ts", value("../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["no-unresolved", "server/src/app.ts", value("./nowhere.ts"), "server/src/lib/a.ts"],
  ["no-cycles", "server/src/lib/b.ts", value("./a.ts"), "server/src/lib/a.ts"],
];

for (const [rule, from, text, to] of faults) {
  test(`${rule}: ${from} is caught`, async (context) => {
    const target = rule === "no-cycles" ? value("./b.ts") : empty;
    const found = (await check(context, { [from]: text, [to]: target })).faults;
    assert.ok(found.length > 0, "nothing was found");
    assert.ok(
      found.every((fault) => fault.startsWith(`${rule}: `)),
      found.join("\n"),
    );
  });
}

async function check(context: TestContext, files: Record<string, string>): ReturnType<typeof checkImports> {
  const house = mkdtempSync(join(tmpdir(), "pennyblack-imports-"));
  context.after(() => rmSync(house, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(house, dirname(path)), { recursive: true });
    writeFileSync(join(house, path), `${text}\n`);
  }
  symlinkSync(join(import.meta.dirname, "..", "node_modules"), join(house, "node_modules"));
  return checkImports(house);
}
