import assert from "node:assert/strict";
import { test } from "node:test";
import { isCopyOfAny, takeFingerprint } from "../../server/src/ranking/near-copies.ts";
import { maskText } from "./mask-text.ts";

test("only words that share their first letters with a word of the query stay readable", () => {
  const masked = maskText("Locks are advisory: lock_timeout, a locker's pg_advisory_lock(1).", "advisory locks a");
  assert.match(masked, /^locks \d[a-z] advisory lock \d[a-z] a locker \d[a-z] \d[a-z] advisory lock \d[a-z]$/);
});

test("the same word has the same code, so copies are still recognized", () => {
  const text = "the harbour was closed on monday after a crane fell into the basin said the port authority on monday";
  const [one, other] = [text, `${text} morning`].map((snippet) =>
    takeFingerprint({ snippet: maskText(snippet, "crane") }),
  );
  assert.ok(one !== undefined && other !== undefined && isCopyOfAny(other, [one]));
  const different = takeFingerprint({ snippet: maskText(text.split(" ").toReversed().join(" "), "crane") });
  assert.ok(!isCopyOfAny(different, [one]));
});
