import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { runMigrations } from "graphile-worker";
import { metricFaults } from "../support/assertions/metric-faults.ts";
import { createTestDatabase } from "../support/services/database.ts";

// docs.test.ts runs the code blocks. At night an operator also copies what stands in the sentences: commands, SQL and queries
// that must exist although nobody ran them here.

const root = resolve(import.meta.dirname, "../../..");
const pages = ["docs/*.md", "docs/runbooks/*.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .filter((page) => page !== "docs/changelog.md")
  .toSorted()
  .map((page) => ({ page, text: readFileSync(join(root, page), "utf8") }));

const db = await createTestDatabase();
after(() => db.drop());

/** Each match of the pattern, with the page it is on. A line that ends within it counts as a space. */
function* find(pattern: RegExp): Generator<{ page: string; found: string }> {
  for (const { page, text } of pages) {
    // An escaped line end continues a command.
    const joined = text.replaceAll("\\\n", " ").replaceAll(/\n(?!\n)/g, " \n");
    for (const [whole, first] of joined.matchAll(pattern))
      yield { page, found: (first ?? whole).replaceAll(/\s+/g, " ") };
  }
}

function textOf(name: string): string {
  return pages.find(({ page }) => page === name)?.text ?? "";
}

test("every script that a page names exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  const named = [...find(/\bnpm run\s+(?:-\S+\s+)*([a-z][\w:-]*)/g)];
  assert.ok(named.length > 40);
  assert.deepEqual(
    named.filter(({ found }) => !(found in scripts)),
    [],
  );
});

test("every admin command that a page names exists, with the options it is given", () => {
  const admin = join(root, "server/src/admin/main.ts");
  const help = execFileSync(process.execPath, [admin, "--help"], { encoding: "utf8" });
  const usages = help.split(/\n {2}(?=[a-z])/).slice(1);
  const named = [...find(/\bnpm run admin -- ([^`\n>|;]+)/g)];
  assert.ok(named.length > 40);
  const wrong = named.filter(({ found }) => {
    const usage = usages.find((text) => `${found} `.startsWith(`${nameIn(text)} `));
    return !usage || (found.match(/--[a-z-]+/g) ?? []).some((option) => !usage.includes(option));
  });
  assert.deepEqual(wrong, []);
});

/** "wallet create" of its usage. */
function nameIn(usage: string): string {
  return /^[a-z-]+(?: [a-z][a-z-]*)?/.exec(usage)?.[0] ?? usage;
}

test("every file of deploy/ and server/ that a page names is there", () => {
  const named = [...find(/(?<![\w./-])((?:deploy|server|tools)\/[\w./-]*\w)/g)]
    // Made by deploy/make-env.sh.
    .filter(({ found }) => !found.endsWith(".env"));
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter(({ found }) => !existsSync(join(root, found))),
    [],
  );
});

test("PostgreSQL understands every question that a page would ask it, as the owner or as who the page says", async () => {
  await runMigrations({ connectionString: db.ownerUrl });
  const named = [...find(/`(select [^`]+)`/g)]
    // Of these the page shows the shape only.
    .filter(({ found }) => found !== "select ..." && found !== "select pg_terminate_backend(pid)");
  assert.ok(named.length > 15);
  for (const { page, found } of named) {
    const fault = await db.owner.query(`explain ${found}`).then(
      () => undefined,
      (error: unknown) => error as { code: string; message: string },
    );
    const isAllowed = fault?.code === "42501" && textOf(page).includes("as a superuser");
    assert.ok(!fault || isAllowed, `${page}: ${found}: ${fault?.message}`);
  }
});

test("every metric that a page asks for exists, with labels and words that it has", () => {
  for (const { page, text } of pages) assert.deepEqual(metricFaults(text), [], page);
});
