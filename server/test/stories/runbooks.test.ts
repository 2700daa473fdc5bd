import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { runMigrations } from "graphile-worker";
import { createProgram } from "../../src/admin/commands.ts";
import { createDatabase } from "../fixture.ts";
import { metricFaults } from "../support/assertions/metric-faults.ts";

// docs.test.ts runs the code blocks. These tests check the commands, SQL and metrics in the text of the pages.

const root = resolve(import.meta.dirname, "../../..");
const pages = ["docs/*.md", "docs/runbooks/*.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .filter((page) => page !== "docs/changelog.md")
  .toSorted()
  .map((page) => ({ page, text: readFileSync(join(root, page), "utf8") }));

const db = await createDatabase();

/** Each match of the pattern with its page. Line breaks count as spaces. */
function* find(pattern: RegExp): Generator<{ page: string; found: string }> {
  for (const { page, text } of pages) {
    // A command continues after an escaped line end.
    const joined = text.replaceAll("\\\n", " ").replaceAll(/\n(?!\n)/g, " \n");
    for (const [whole, first] of joined.matchAll(pattern))
      yield { page, found: (first ?? whole).replaceAll(/\s+/g, " ") };
  }
}

function textOf(name: string): string {
  return pages.find(({ page }) => page === name)?.text ?? "";
}

test("every npm script on a page exists", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: object };
  const named = [...find(/\bnpm run\s+(?:-\S+\s+)*([a-z][\w:-]*)/g)];
  assert.ok(named.length > 40);
  assert.deepEqual(
    named.filter(({ found }) => !(found in scripts)),
    [],
  );
});

test("every admin command on a page exists and has the given options", () => {
  const known = createProgram(() => Promise.resolve()).commands.flatMap((group) =>
    group.commands.length === 0
      ? [{ name: group.name(), options: group.options }]
      : group.commands.map((command) => ({ name: `${group.name()} ${command.name()}`, options: command.options })),
  );
  const named = [...find(/\bnpm run admin -- ([^`\n>|;]+)/g)];
  assert.ok(named.length > 40);
  const wrong = named.filter(({ found }) => {
    const command = known.find(({ name }) => `${found} `.startsWith(`${name} `));
    return (
      !command || (found.match(/--[a-z-]+/g) ?? []).some((flag) => !command.options.some(({ long }) => long === flag))
    );
  });
  assert.deepEqual(wrong, []);
});

test("every file of deploy/, server/ and tools/ on a page exists", () => {
  const named = [...find(/(?<![\w./-])((?:deploy|server|tools)\/[\w./-]*\w)/g)]
    // Created by deploy/make-env.sh, and a method of MCP.
    .filter(({ found }) => !/\.env$|^deploy\/alertmanager\/|^tools\/list$/.test(found));
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter(({ found }) => !existsSync(join(root, found))),
    [],
  );
});

test("every SQL query on a page is valid and allowed for the owner, unless the page requires a superuser", async () => {
  await runMigrations({ connectionString: db.ownerUrl });
  const named = [...find(/`(select [^`]+)`/g)]
    // The pages show only the form of these.
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

test("every metric on a page exists with its labels and values", () => {
  for (const { page, text } of pages) assert.deepEqual(metricFaults(text), [], page);
});
