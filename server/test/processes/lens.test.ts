import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runScript } from "./run-script.ts";

// The command that checks a lens and shows the effect of an edit.

const scratch = mkdtempSync(join(tmpdir(), "pennyblack-lens-"));
const folder = join(scratch, "lenses");
cpSync(new URL("../../lenses", import.meta.url).pathname, folder, { recursive: true });
const pages = join(scratch, "pages.json");
writeFileSync(
  pages,
  JSON.stringify([
    {
      query: "renew passport",
      category: "gov",
      results: [{ url: "https://shop.example/passports" }, { url: "https://www.gov.uk/renew" }],
    },
    { query: "cats", results: [{ url: "https://cats.example/" }] },
  ]),
);

after(() => rmSync(scratch, { recursive: true }));

async function lens(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const { exitCode, stdout, stderr } = await runScript("lenses/main.ts", args);
  return { code: exitCode, out: stdout, err: stderr };
}

test("lint counts the rules of every lens, and reports every error with its file and line", async () => {
  const fine = await lens("lint");
  assert.equal(fine.code, 0, fine.err);
  assert.match(fine.out, /^ *gov +\d{4}-\d\d-\d\d\.\d+ +0\.6 +\d+/m);

  const broken = join(scratch, "broken");
  cpSync(folder, broken, { recursive: true });
  const lines = readFileSync(join(broken, "gov.lens"), "utf8").trimEnd().split("\n");
  writeFileSync(join(broken, "gov.lens"), [...lines, "$tier=Z,site=a.example,why=x", "$site=b.example"].join("\n"));
  const { code, err } = await lens("lint", broken);
  assert.equal(code, 1);
  assert.match(err, new RegExp(`^gov\\.lens:${lines.length + 1}: `, "m"));
  assert.match(err, new RegExp(`^gov\\.lens:${lines.length + 2}: `, "m"));
});

test("explain shows the position of each result and the reason", async () => {
  const { code, out } = await lens("explain", pages);
  assert.equal(code, 0);
  assert.match(out, /^ *1 +2 +A +[\w-]+ +0\.\d{3} .*https:\/\/www\.gov\.uk\/renew$/m);
  assert.match(out, /^ *2 +1 +N +unlisted +0\.\d{3} .*https:\/\/shop\.example\/passports$/m);
});

test("diff shows only the results that an edited copy moves", async () => {
  assert.match((await lens("diff", folder, pages)).out, /^0 of 2 pages change\.$/m);
  writeFileSync(
    join(folder, "gov.lens"),
    `${readFileSync(join(folder, "gov.lens"), "utf8")}\n$cap=E,site=gov.uk,override,why=test\n`,
  );
  const { code, out } = await lens("diff", folder, pages);
  assert.equal(code, 0);
  assert.match(out, /^ *1 -> 2 +A -> E +[\w-]+ -> test +https:\/\/www\.gov\.uk\/renew$/m);
  assert.match(out, /^1 of 2 pages change\.$/m);
});

test("invalid arguments are rejected with the usage", async () => {
  for (const args of [["explain"], ["diff", folder], ["lint", "a", "b"], ["paint"], ["lint", "--loud"]]) {
    const { code, err } = await lens(...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(err, /npm run lens -- <command>/);
  }
  assert.equal((await lens("explain", join(folder, "gov.lens"))).code, 2);
});
