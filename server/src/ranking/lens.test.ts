import assert from "node:assert/strict";
import { test } from "node:test";
import { lensOf } from "../../test/support/data/lens-of.ts";
import { canonicalPage } from "./canonical-url.ts";
import { buildLenses, type Lens } from "./lens.ts";

function tierOf(lens: Lens, address: string): string {
  const { tier, why } = lens.classify(canonicalPage(address));
  return `${tier} ${why}`;
}

test("a page without a matching rule is neutral", () => {
  assert.equal(tierOf(lensOf(""), "https://example.org/"), "N unlisted");
});

test("each selector matches only its hosts", () => {
  const lens = lensOf(`
$tier=A,host=docs.example.org,why=one-host
$tier=B,site=example.net,why=whole-site
$tier=B,host-suffix=pages.example,why=below-only
$tier=A,suffix=gov,why=gov
$tier=A,suffix=gov.*,why=gov-of-a-country
$cap=D,label=forum,why=forum
$cap=D,psl-private,why=rented
`);
  const expected = {
    "https://docs.example.org/a": "A one-host",
    "https://v2.docs.example.org/a": "N unlisted",
    "https://example.org/": "N unlisted",
    "https://www.example.net/": "B whole-site",
    "https://a.b.example.net/": "B whole-site",
    "https://notexample.net/": "N unlisted",
    "https://me.pages.example/": "B below-only",
    "https://pages.example/": "N unlisted",
    "https://www.epa.gov/": "A gov",
    "https://www.gov.uk/": "A gov-of-a-country",
    "https://health.vic.gov.au/": "A gov-of-a-country",
    "https://gov.example.com/": "N unlisted",
    "https://shop.gov.com/": "N unlisted",
    "https://forum.example.org/": "D forum",
    "https://forum.org/": "N unlisted",
    "https://someone.github.io/": "D rented",
    "https://find-court.service.gov.uk/": "A gov-of-a-country",
    "http://127.0.0.1/": "N unlisted",
    "http://[::1]/": "N unlisted",
  };
  const found = Object.fromEntries(Object.keys(expected).map((address) => [address, tierOf(lens, address)]));
  assert.deepEqual(found, expected);
});

test("a more specific rule wins, and an override wins over all", () => {
  const lens = lensOf(`
/coupons/$tier=D,override,why=coupons
$tier=A,host=news.example.com,why=host
$tier=C,site=example.com,why=site
/forum/$cap=D,why=forum
/special/$tier=E,site=example.com,why=special
$tier=B,suffix=edu,why=university
/~$tier=C,suffix=edu,override,why=personal-page
`);
  assert.equal(tierOf(lens, "https://example.com/forum/1"), "C site");
  assert.equal(tierOf(lens, "https://example.org/forum/1"), "D forum");
  assert.equal(tierOf(lens, "https://news.example.com/x"), "A host");
  assert.equal(tierOf(lens, "https://news.example.com/coupons"), "D coupons");
  assert.equal(tierOf(lens, "https://example.com/x/Special/y"), "E special");
  assert.equal(tierOf(lens, "https://example.edu/"), "B university");
  assert.equal(tierOf(lens, "https://cs.example.edu/~someone/"), "C personal-page");
});

test("a cap only lowers and a lift only raises", () => {
  const lens = lensOf(`
$tier=B,suffix=edu,why=university
$cap=C,label=blog,why=blog
$cap=C,site=a.edu,why=held-down
$lift=A,site=b.edu,why=brought-up
$lift=C,site=c.edu,why=already-higher
$cap=N,site=d.org,why=already-neutral
`);
  assert.equal(tierOf(lens, "https://a.edu/"), "C held-down");
  assert.equal(tierOf(lens, "https://b.edu/"), "A brought-up");
  assert.equal(tierOf(lens, "https://c.edu/"), "B university");
  assert.equal(tierOf(lens, "https://d.org/"), "N already-neutral");
});

const base = {
  file: "base.lens",
  text: "! name: base\n! version: 2026-11-15.1\n! lambda: 0.35\n$tier=C,site=example.org,why=base",
};
const child = {
  file: "child.lens",
  text: "! name: child\n! version: 2026-11-15.2\n! extends: base\n! lambda: 0.5\n$tier=A,site=example.org,why=child",
};

test("a lens can override the rules it extends, and its digest covers both", () => {
  const one = buildLenses([child, base]);
  const other = buildLenses([child, { ...base, text: `${base.text}\n$tier=B,site=example.net,why=new` }]);
  assert.ok(one.ok && other.ok);
  const [lens, changed] = [one.lenses.get("child"), other.lenses.get("child")];
  assert.ok(lens !== undefined && changed !== undefined);
  assert.equal(tierOf(lens, "https://example.org/"), "A child");
  assert.equal(tierOf(changed, "https://example.net/"), "B new");
  assert.notEqual(lens.digest, changed.digest);
  assert.deepEqual([lens.version, lens.lambda, lens.ruleCount], ["2026-11-15.2", 0.5, 2]);
});

test("a fault in any file prevents all lenses from loading and names the file", () => {
  const built = buildLenses([
    base,
    { file: "bad.lens", text: `${child.text}\nnonsense` },
    { file: "twin.lens", text: base.text },
  ]);
  assert.ok(!built.ok);
  assert.deepEqual(
    built.faults.map(({ file, line }) => `${file}:${line}`),
    ["bad.lens:6", "twin.lens:1"],
  );
  const orphan = buildLenses([child]);
  assert.match(JSON.stringify(orphan), /extends base, which does not exist/);
});

test("a host is classified the same before and after thousands of others", () => {
  const lens = lensOf("$tier=A,site=example.org,why=x");
  const before = tierOf(lens, "https://www.example.org/");
  for (let index = 0; index < 9_000; index += 1) tierOf(lens, `https://host-${index}.example.com/`);
  assert.equal(tierOf(lens, "https://www.example.org/"), before);
  assert.equal(tierOf(lens, "https://late.example.com/"), "N unlisted");
});

test("only the last ten labels of a host count", () => {
  const lens = lensOf(
    "$tier=A,label=forum,why=label\n$tier=B,site=example.org,why=site\n$tier=C,host-suffix=b.example.com,why=suffix",
  );
  assert.equal(tierOf(lens, `https://forum.${"a.".repeat(7)}example.net/`), "A label");
  assert.equal(tierOf(lens, `https://forum.${"a.".repeat(8)}example.net/`), "N unlisted");
  assert.equal(tierOf(lens, `https://${"a.".repeat(120)}example.org/`), "B site");
  assert.equal(tierOf(lens, `https://${"a.".repeat(100)}b.example.com/`), "C suffix");
});

function lensWith(rules: string, groups: string): Lens {
  const domains = groups.split("\n").filter((line) => !line.startsWith("$"));
  const registry = `! name: listed
! title: A list
! source: https://lists.example/a
! licence: CC0
! attribution: Someone
! retrieved: 2026-11-16
! count: ${domains.length}
${groups}`;
  const lens = `! name: base\n! version: 2026-11-15.1\n! lambda: 0.5\n${rules}`;
  const built = buildLenses([
    { file: "base.lens", text: lens },
    { file: "listed.registry", text: registry },
  ]);
  const base = built.ok ? built.lenses.get("base") : undefined;
  if (base === undefined) throw new Error(JSON.stringify(built));
  return base;
}

test("a registry lowers only sites that no hand-written rule names, and the verdict names the list", () => {
  const lens = lensWith(
    "$tier=C,site=paper.example,why=newspaper\n$tier=B,suffix=edu,why=university\n$cap=D,psl-private,why=rented",
    "$cap=D,why=listed\nbad.example\nblog.paper.example\ncollege.edu\npaper.example",
  );
  const expected = {
    "https://bad.example/": "D listed",
    "https://www.sub.bad.example/a": "D listed",
    "https://notbad.example/": "N unlisted",
    "https://paper.example/": "C newspaper",
    "https://blog.paper.example/": "C newspaper",
    "https://college.edu/": "B university",
  };
  for (const [address, tier] of Object.entries(expected)) assert.equal(tierOf(lens, address), tier, address);
  const verdict = lens.classify({ host: "bad.example", path: "/" });
  assert.deepEqual([verdict.registry?.name, verdict.registry?.source], ["listed", "https://lists.example/a"]);
  assert.equal(lens.classify({ host: "paper.example", path: "/" }).registry, undefined);
  assert.equal(tierOf(lens.withoutRegistries, "https://bad.example/"), "N unlisted");
  assert.notEqual(lens.digest, lens.withoutRegistries.digest);
});

test("a registry raises a site on a shared platform, but a hand-written rule for the same site wins", () => {
  const lens = lensWith(
    "$cap=D,site=platform.example,why=self-published\n$tier=N,site=sold.example,why=changed-hands",
    "$lift=B,why=government\nagency.platform.example\nsold.example\ntown.example",
  );
  assert.equal(tierOf(lens, "https://agency.platform.example/"), "B government");
  assert.equal(tierOf(lens, "https://other.platform.example/"), "D self-published");
  assert.equal(tierOf(lens, "https://sold.example/"), "N changed-hands");
  assert.equal(tierOf(lens, "https://town.example/forum/"), "B government");
});

test("a registry cannot raise a site above B or lower one to E, and its faults have a line", () => {
  assert.equal(tierOf(lensWith("", "$lift=A,why=federal-government\na.example"), "https://a.example/")[0], "A");
  for (const group of ["$lift=A,why=university", "$cap=E,why=listed", "$tier=B,why=listed"]) {
    assert.throws(() => lensWith("", `${group}\na.example`), /listed\.registry.*"line":8/);
  }
  assert.throws(() => lensWith("", "$cap=D,why=listed\na.example\na.example"), /a\.example is repeated/);
  assert.throws(() => lensWith("", "$cap=D,why=listed\nhttps://a.example/"), /invalid domain/);
});
