import assert from "node:assert/strict";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import { isCopyOfAny, type ShownText, takeFingerprint } from "./near-copies.ts";

function isCopy(one: ShownText, other: ShownText): boolean {
  return isCopyOfAny(takeFingerprint(one), [takeFingerprint(other)]);
}

const report =
  "The harbour was closed on Monday after a crane fell into the basin, the port authority said. Nobody was hurt, and " +
  "ships were sent to a neighbouring port until the wreck can be lifted, which may take until the end of the week.";

test("the same article on two sites is a copy, even if the titles differ", () => {
  const one = { title: "Harbour closed after crane falls | Morning Post", snippet: report };
  const other = {
    title: "HARBOUR CLOSED after crane falls - Coast Radio",
    snippet: report.replace("Monday", "Monday,"),
  };
  assert.ok(isCopy(one, other));
  assert.ok(isCopy(one, { ...other, snippet: report.toUpperCase() }));
});

test("two articles about the same event are not copies", () => {
  const other =
    "A crane has collapsed in the harbour and blocked the basin. The authority that runs the port hopes to lift it by " +
    "Friday; until then all ships are sent elsewhere. No one was injured.";
  assert.ok(!isCopy({ title: "Harbour closed", snippet: report }, { title: "Harbour closed", snippet: other }));
});

test("a shared opening, such as a site's greeting, does not make a copy", () => {
  const words = (start: number): string => Array.from({ length: 30 }, (_, index) => `word${start + index}`).join(" ");
  const greeting = "welcome to the encyclopaedia that everybody can read and nobody has to pay for";
  for (let page = 0; page < 60; page += 1) {
    const [one, other] = [page * 100, page * 100 + 50].map((start) => ({ title: greeting, snippet: words(start) }));
    assert.ok(!isCopy(one ?? {}, other ?? {}), `page ${page}`);
  }
});

test("a few equal words do not make a copy", () => {
  const short = { title: "Sign in to your account", snippet: "Enter your name and password" };
  assert.ok(!isCopy(short, short));
  assert.ok(!isCopy({}, {}));
});

test("compares text without spaces", () => {
  const japanese = {
    title: "港が閉鎖される",
    snippet: "月曜日にクレーンが倒れたため港は閉鎖されたと当局が発表した。けが人はいなかった。",
  };
  const chinese = {
    title: "港口关闭",
    snippet: "当局表示，周一一台起重机倒塌后港口关闭，没有人受伤，船只被送往邻近的港口。",
  };
  assert.ok(isCopy(japanese, { ...japanese, title: "港が閉鎖される - 新聞" }));
  assert.ok(isCopy(chinese, chinese));
  assert.ok(!isCopy(japanese, chinese));
});

test("is symmetric, even for long texts", () => {
  const word = fc.constantFrom("a", "b", "harbour", "crane", "Δ", "港", "é", ".", "\u2014");
  const shown = fc.array(word, { maxLength: 1_500 }).map((words) => ({ title: "", snippet: words.join(" ") }));
  fc.assert(fc.property(shown, shown, (one, other) => isCopy(one, other) === isCopy(other, one)));
});
