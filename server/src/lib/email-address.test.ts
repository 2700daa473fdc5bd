import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { mailboxOf, parseEmailAddress } from "./email-address.ts";

test("converts addresses to lower case and rejects invalid ones", () => {
  assert.equal(parseEmailAddress(" Ada@Example.ORG "), "ada@example.org");
  for (const text of [
    "",
    "ada",
    "@example.org",
    "ada@",
    "ada@example",
    "a b@example.org",
    "a@b@c.org",
    "x".repeat(255),
  ])
    assert.equal(parseEmailAddress(text), undefined, text);
});

test("maps addresses of the same mailbox to one", () => {
  for (const [email, mailbox] of [
    ["ada@example.org", "ada@example.org"],
    ["ada+trial2@example.org", "ada@example.org"],
    ["a.d.a+x+y@gmail.com", "ada@gmail.com"],
    ["a.da@googlemail.com", "ada@gmail.com"],
    ["a.da@example.org", "a.da@example.org"],
    ["+tag@example.org", "+tag@example.org"],
  ] as const)
    assert.equal(mailboxOf(email), mailbox);
});

test("rejects other spellings of a mailbox: quoted, bracketed, with a comment, a display name or a trailing dot", () => {
  for (const text of [
    '"ada"@example.org',
    '"ada lovelace"@example.org',
    '"a\\da"@example.org',
    'a."d".a@example.org',
    "<ada@example.org>",
    "<ada@example.org",
    "ada@example.org>",
    "Ada<ada@example.org>",
    "ada(tag)@example.org",
    "(tag)ada@example.org",
    "ada@(tag)example.org",
    "ada@example.org(tag)",
    "mailto:ada@example.org",
    "group:ada@example.org;",
    "ada,bob@example.org",
    "ada;bob@example.org",
    "a\\da@example.org",
    "ada@[192.0.2.1]",
    "ada@[ipv6:2001:db8::1]",
    "ada@192.0.2.1",
    "ada@0x7f.1",
    "ada@example.org.",
    "ada@.example.org",
    "ada@example..org",
    "ada@-example.org",
    "ada@example-.org",
    "ada@exa_mple.org",
    "ada@exa%6dple.org",
    ".ada@example.org",
    "ada.@example.org",
    "a..da@example.org",
    `${"a".repeat(65)}@example.org`,
    `ada@${"a".repeat(64)}.org`,
    "ada@example.org\0",
    "ada\u200B@example.org",
  ])
    assert.equal(parseEmailAddress(text), undefined, text);
});

test("maps spellings of one domain to one, and no letters of other alphabets to ASCII ones", () => {
  for (const [text, email] of [
    ["ada@bücher.example", "ada@xn--bcher-kva.example"],
    ["ada@BU\u0308CHER.example", "ada@xn--bcher-kva.example"],
    ["ada@xn--BCHER-kva.example", "ada@xn--bcher-kva.example"],
    ["ada@ｅｘａｍｐｌｅ。org", "ada@example.org"],
    ["o'neil+a/b=c!#$%&*?^_`{|}~-@example.co.uk", "o'neil+a/b=c!#$%&*?^_`{|}~-@example.co.uk"],
    // These are other mailboxes, not spellings of "kai@example.org".
    ["\u212Aai@example.org", undefined],
    ["ｋai@example.org", undefined],
    ["ка\u0456@example.org", undefined],
  ] as const)
    assert.equal(parseEmailAddress(text), email, text);
});

const charactersOf = (text: string): fc.Arbitrary<string> => fc.constantFrom(...text.split(""));
const local = fc.string({ unit: charactersOf('ab.+-"\\<>()[],;: @é\u212A') });
const domain = fc.oneof(fc.domain(), fc.string({ unit: charactersOf("ab1.-[]>)ü。\u00AD") }));
const written = fc.tuple(local, domain).map(([user, host]) => `${user}@${host}`);

test("an accepted address is plain, parses to itself, and has one mailbox in any case", () => {
  fc.assert(
    fc.property(fc.oneof(written, fc.emailAddress()), (text) => {
      const email = parseEmailAddress(text);
      if (email === undefined) return;
      // Only characters that mean the same to every mail server and mail library.
      assert.match(email, /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/);
      assert.equal(parseEmailAddress(email), email);
      assert.equal(parseEmailAddress(email.toUpperCase()), email);
      assert.equal(mailboxOf(mailboxOf(email)), mailboxOf(email));
    }),
    { numRuns: 5_000 },
  );
});

test("accepts ordinary addresses", () => {
  const word = fc.string({ unit: charactersOf("abcxyz0189_-+"), minLength: 1, maxLength: 20 });
  const ordinary = fc.tuple(fc.array(word, { minLength: 1, maxLength: 3 }), fc.domain());
  fc.assert(
    fc.property(ordinary, ([words, host]) => {
      const email = `${words.join(".")}@${host}`;
      fc.pre(email.length <= 254);
      assert.equal(parseEmailAddress(email), email.toLowerCase());
    }),
  );
});
