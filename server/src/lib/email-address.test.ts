import assert from "node:assert/strict";
import { test } from "node:test";
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
