// Tests each import rule with a small source tree that breaks it.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { checkImports, checkNames, expandPattern, readPatterns } from "./check-imports.ts";

const empty = "export const a = 1;";
const value = (path: string) => `import { a } from "${path}";\nexport const b = a;`;
const type = (path: string) => `import type { a } from "${path}";\nexport type B = typeof a;`;

test("a valid source tree passes and every file is analyzed", async (context) => {
  const { violations, moduleCount } = await check(context, {
    "server/src/main.ts": value("./app.ts"),
    "server/src/app/routes.ts": value("../keys/secret.ts"),
    "server/src/app.ts": `${value("./search/search.ts")}\nimport { a as c } from "./wallet/hold.ts";\nexport const d = c;`,
    "server/src/search/search.ts": type("../wallet/wallet.ts"),
    "server/src/wallet/wallet.ts": value("../lib/money.ts"),
    "server/src/wallet/hold.ts": value("../db/pool.ts"),
    "server/src/wallet/wallet.test.ts": value("../keys/secret.ts"),
    "server/src/keys/secret.ts": value("../http/reply.ts"),
    "server/src/http/reply.ts": value("../problems/problems.ts"),
    "server/src/jobs/main.ts": value("../wallet/hold.ts"),
    "server/src/providers/call-provider.ts": 'import { request } from "undici";\nexport const b = request;',
    "server/src/db/pool.ts": "export const a = { b: 1 } as const satisfies object;",
    "server/src/lib/money.ts": empty,
    "server/src/problems/problems.ts": empty,
    "bench/naive-server.ts": value("../server/src/main.ts"),
  });
  assert.deepEqual(violations, []);
  assert.equal(moduleCount, 15);
});

test("an empty source tree fails", async (context) => {
  assert.deepEqual((await check(context, {})).violations, ["no source files found"]);
});

test("a file that cannot be parsed fails", async (context) => {
  const tree = { "server/src/lib/broken.ts": "export const = ;" };
  await assert.rejects(check(context, tree), /broken\.ts/);
});

test("two modules that import each other fail, even with types only or in different files", async (context) => {
  const tree = {
    "server/src/keys/keys.ts": type("../wallet/wallet.ts"),
    "server/src/wallet/wallet.ts": empty,
    "server/src/wallet/routes/balance.ts": type("../../keys/keys.ts"),
    "server/src/usage/usage.test.ts": value("../keys/keys.ts"),
    "server/src/app.ts": value("./app/routes.ts"),
    "server/src/app/routes.ts": empty,
  };
  assert.deepEqual((await check(context, tree)).violations, [
    `mutual-imports: server/src/keys and server/src/wallet
    server/src/keys/keys.ts -> server/src/wallet/wallet.ts
    server/src/wallet/routes/balance.ts -> server/src/keys/keys.ts`,
  ]);
  const allowed = { ...tree, "server/src/wallet/routes/balance.ts": empty };
  assert.deepEqual((await check(context, allowed)).violations, []);
});

test("an import missed by dependency-cruiser fails", async (context) => {
  const tree = { "server/src/lib/a.ts": `export const text = \`\n${value("./b.ts")}\n\`;` };
  const { violations } = await check(context, tree);
  assert.deepEqual(violations, ['server/src/lib/a.ts: dependency-cruiser missed the import of "./b.ts"']);
});

const undici = 'import { request } from "undici";\nexport const b = request;';
const receiptSigning = 'import { CompactSign } from "jose";\nexport const b = CompactSign;';
const signing = 'import { Webhook } from "standardwebhooks";\nexport const b = Webhook;';
const stripe = 'import { Stripe } from "stripe";\nexport const b = Stripe;';
const openid = 'import { discovery } from "openid-client";\nexport const b = discovery;';
const cases: [rule: string, from: string, text: string, to: string][] = [
  ["cells-are-wired-and-named", "server/src/keys/keys.ts", value("../cells/cells.ts"), "server/src/cells/cells.ts"],
  [
    "evidence-is-wired-and-verified",
    "server/src/usage/usage.ts",
    value("../evidence/evidence.ts"),
    "server/src/evidence/evidence.ts",
  ],
  ["public-files-only", "server/src/usage/usage.ts", value("../wallet/hold.ts"), "server/src/wallet/hold.ts"],
  [
    "public-files-only",
    "server/src/mcp/mcp.ts",
    value("../oauth/verify-access-token.ts"),
    "server/src/oauth/verify-access-token.ts",
  ],
  ["public-files-only", "server/src/usage/usage.ts", value("../admin/admin.ts"), "server/src/admin/admin.ts"],
  ["public-files-only", "server/src/search/search.ts", type("../wallet/hold.ts"), "server/src/wallet/hold.ts"],
  [
    "search-receives-its-dependencies",
    "server/src/search/search.ts",
    value("../keys/keys.ts"),
    "server/src/keys/keys.ts",
  ],
  [
    "providers-and-ranking-are-independent",
    "server/src/providers/brave.ts",
    value("../db/pool.ts"),
    "server/src/db/pool.ts",
  ],
  [
    "providers-and-ranking-are-independent",
    "server/src/ranking/rank.ts",
    value("../config/config.ts"),
    "server/src/config/config.ts",
  ],
  [
    "infrastructure-imports-no-modules",
    "server/src/http/reply.ts",
    value("../keys/keys.ts"),
    "server/src/keys/keys.ts",
  ],
  [
    "infrastructure-imports-no-modules",
    "server/src/jobs/run.ts",
    type("../wallet/wallet.ts"),
    "server/src/wallet/wallet.ts",
  ],
  ["infrastructure-below-http", "server/src/db/pool.ts", value("../http/reply.ts"), "server/src/http/reply.ts"],
  [
    "lib-imports-only-packages",
    "server/src/lib/money.ts",
    value("../problems/problems.ts"),
    "server/src/problems/problems.ts",
  ],
  [
    "config-and-problems-are-leaves",
    "server/src/problems/problems.ts",
    value("../db/pool.ts"),
    "server/src/db/pool.ts",
  ],
  ["only-processes-import-app", "server/src/usage/usage.ts", value("../app.ts"), "server/src/app.ts"],
  ["only-processes-import-app", "server/src/usage/usage.ts", type("../app/routes.ts"), "server/src/app/routes.ts"],
  ["processes-are-not-imported", "server/src/app.ts", value("./main.ts"), "server/src/main.ts"],
  ["one-file-calls-upstreams", "server/src/search/routing.ts", undici, "server/src/lib/a.ts"],
  ["one-file-calls-upstreams", "server/src/providers/brave.ts", undici, "server/src/lib/a.ts"],
  ["one-file-calls-upstreams", "server/src/webhooks/webhooks.ts", undici, "server/src/lib/a.ts"],
  ["one-file-signs-webhooks", "server/src/webhooks/webhooks.ts", signing, "server/src/lib/a.ts"],
  ["one-file-signs-receipts", "server/src/wallet/wallet.ts", receiptSigning, "server/src/lib/a.ts"],
  ["one-file-calls-stripe", "server/src/payments/charge.ts", stripe, "server/src/lib/a.ts"],
  ["one-file-calls-openid-providers", "server/src/console/sign-in.ts", openid, "server/src/lib/a.ts"],
  ["no-raw-sockets-in-modules", "server/src/webhooks/send.ts", value("node:https"), "server/src/lib/a.ts"],
  ["no-tests-in-product", "server/src/app.ts", value("../test/clock.ts"), "server/test/clock.ts"],
  ["server-imports-no-clients", "server/src/app.ts", value("../../sdk/src/sdk.ts"), "sdk/src/sdk.ts"],
  ["sdk-has-no-dependencies", "sdk/src/sdk.ts", undici, "server/src/lib/a.ts"],
  ["cli-and-mcp-use-the-api", "cli/src/main.ts", value("../../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["overspend-is-independent", "overspend/src/main.ts", value("../../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["console-uses-http", "console/src/main.ts", value("../../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["tools-are-independent", "tools/guard.ts", value("../server/src/lib/a.ts"), "server/src/lib/a.ts"],
  ["no-unresolved", "server/src/app.ts", value("./nowhere.ts"), "server/src/lib/a.ts"],
  ["no-cycles", "server/src/lib/b.ts", value("./a.ts"), "server/src/lib/a.ts"],
  ["no-cycles", "console/src/pages/b.tsx", type("./a.tsx"), "console/src/pages/a.tsx"],
];

for (const [rule, from, text, to] of cases) {
  test(`${rule}: detects a violation in ${from}`, async (context) => {
    const target = rule === "no-cycles" ? value(`./${basename(from)}`) : empty;
    const { violations } = await check(context, { [from]: text, [to]: target });
    assert.ok(violations.length > 0, "no violation detected");
    assert.ok(
      violations.every((violation) => violation.startsWith(`${rule}: `)),
      violations.join("\n"),
    );
  });
}

test("names in the rules that do not exist are reported", () => {
  const patterns = [
    "^server/src/(?:keys|gone)/",
    "^server/src/(?:keys/keys|keys/gone)\\.ts$",
    "^server/src/(usage)/(?!(?:usage|read-usage)\\.ts$)",
    "(?:^|/)node_modules/(?:pg|gone)/",
    "^(?:node:)?(?:http|gone)$",
    "^server/src/$1/",
  ];
  const files = ["server/src/keys/keys.ts", "server/src/usage/read-usage.ts"];
  assert.deepEqual(checkNames({ patterns, files, packages: ["pg"] }), [
    ".dependency-cruiser.cjs: nothing matches ^server/src/gone/",
    ".dependency-cruiser.cjs: nothing matches ^server/src/keys/gone\\.ts$",
    ".dependency-cruiser.cjs: nothing matches ^server/src/usage/usage\\.ts$",
    ".dependency-cruiser.cjs: nothing matches ^node_modules/gone/",
    ".dependency-cruiser.cjs: nothing matches /node_modules/gone/",
    ".dependency-cruiser.cjs: nothing matches ^node:?gone$",
  ]);
});

test("a folder of server/src that no rule names is reported", () => {
  const files = ["server/src/keys/keys.ts", "server/src/new/new.ts", "server/src/app.ts"];
  assert.deepEqual(checkNames({ patterns: ["^server/src/keys/", "^server/src/new/new\\.ts$"], files, packages: [] }), [
    ".dependency-cruiser.cjs: no rule names server/src/new/",
  ]);
});

test("ARCHITECTURE.md names the files that may connect to other services, and only files that exist", async () => {
  const root = join(import.meta.dirname, "..");
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
  const allowed = (await readPatterns(/^one-file-calls-/))
    .flatMap(expandPattern)
    .flatMap((pattern) => /^\^server\/src\/(.+)\\\.ts\$$/.exec(pattern)?.[1] ?? []);
  const named = [...text.matchAll(/`([\w-]+(?:\/[\w-]+)+)\.ts`/g)].map((match) => match[1] ?? "");
  assert.ok(allowed.length > 3);
  assert.deepEqual(
    allowed.filter((file) => !named.includes(file)),
    [],
  );
  assert.deepEqual(
    named.filter((file) => !["", "server/src"].some((folder) => existsSync(join(root, folder, `${file}.ts`)))),
    [],
  );
});

async function check(context: TestContext, files: Record<string, string>): ReturnType<typeof checkImports> {
  const tree = mkdtempSync(join(tmpdir(), "pennyblack-imports-"));
  context.after(() => rmSync(tree, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(tree, dirname(path)), { recursive: true });
    writeFileSync(join(tree, path), `${text}\n`);
  }
  symlinkSync(join(import.meta.dirname, "..", "node_modules"), join(tree, "node_modules"));
  return checkImports(tree);
}
