/** A text of at most `size` bytes after encoding. */
export type BuildText = (size: number, measure: MeasureText) => string;
/** The length of a text after encoding. */
export type MeasureText = (text: string) => number;

// Texts that are expensive for code whose cost grows faster than its input: separators, labels, names and characters that
// parsers, patterns and comparisons handle one by one.

/** By name. Each consists of printable ASCII, so that it is allowed in a header. */
export const plainTexts: Record<string, BuildText> = {
  letters: repeated("a"),
  digits: repeated("9"),
  spaces: between("x", " ", "x"),
  labels: between("", "a.", "com"),
  segments: repeated("a/"),
  "long segments": repeated(`${" ".repeat(258)}/`),
  "items of a list": numbered((index) => `a${index},`),
  parameters: numbered((index) => `a${index}=1;`),
  pairs: numbered((index) => `a${index}=1&`),
  quotes: repeated('"'),
  backslashes: repeated("\\"),
  "percent signs": repeated("%"),
  brackets: repeated("["),
  "tag starts": repeated("<a "),
  entities: repeated("&lt;"),
  hyphens: repeated("a-"),
  "addresses of a proxy": numbered((index) => `10.${index >> 8}.${index & 255}.1, `),
};

/** Texts for bodies, URLs and upstream answers, which can contain any character. */
export const anyTexts: Record<string, BuildText> = {
  ...plainTexts,
  tabs: repeated("\t"),
  "line feeds": repeated("\n"),
  "wide letters": numbered((index) => String.fromCodePoint(0x4e00 + ((index * 7_919) % 20_000))),
  "combining marks": between("a", "\u0301", ""),
  emoji: repeated("\u{1f600}"),
  "no-break spaces": repeated(" \u00a0"),
  "zero-width characters": repeated("a\u200b"),
  "lone surrogates": repeated("\ud800"),
};

/** URLs, for parameters and fields that take one. */
export const urlTexts: Record<string, BuildText> = {
  "a host of many labels": between("https://", "a.", "com"),
  "a long host": between("https://", "a", ".com"),
  "a host of wide letters": between("https://", "\u4e00\u4e8c", ".com"),
  "a host of accented letters": between("https://", "\u00e4\u00f6\u00df", ".com"),
  "spaces before the host": (size, measure) => {
    const unit = `${" ".repeat(258)}/`;
    return `http://${unit.repeat(Math.max(0, Math.floor((size - 30) / measure(unit))))}${nextWord()}`;
  },
  "many path segments": between("https://a.example/", "a/", ""),
  "many dot segments": between("https://a.example/", "a/../", ""),
  "many slashes": between("https://a.example", "/", "?"),
  "many parameters": between("https://a.example/?", "b=1&a=2&", ""),
  "many dots in the path": between("https://a.example/", "%2e", ""),
  "a long user": between("https://", "a", ":b@a.example/"),
};

function repeated(unit: string): BuildText {
  return between("", unit, "");
}

function between(start: string, unit: string, end: string): BuildText {
  return (size, measure) => {
    const first = start + nextWord();
    const room = size - measure(first + end);
    return first + unit.repeat(Math.max(1, Math.floor(room / measure(unit)))) + end;
  };
}

/** Distinct units, so that a list of them has no duplicates. */
function numbered(unit: (index: number) => string): BuildText {
  return (size, measure) => {
    const units: string[] = [nextWord()];
    let left = size - 4;
    for (let index = 0; ; index += 1) {
      const next = unit(index);
      left -= measure(next);
      if (left < 0 && index > 0) return units.join("");
      units.push(next);
    }
  };
}

let words = 0;

/** Makes each text different from the earlier ones, so that no cache of the server has it. */
function nextWord(): string {
  words += 1;
  return words.toString(36);
}
