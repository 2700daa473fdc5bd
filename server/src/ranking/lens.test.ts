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
