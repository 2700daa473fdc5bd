// Whether two results show the same text, as a press report does that many sites carry.
//
// Both texts are cut into windows of five words, and of two fingerprints of each set the least is kept. Sets that share
// a part J of their windows agree on one of the two with a chance of 1-(1-J)^2, so only those few pairs that do are
// compared in full. Comparing every pair in full would cost more than all of the ranking.

export interface ShownText {
  title?: string;
  snippet?: string;
}

export interface Fingerprint {
  text: ShownText;
  windowCount: number;
  least: number;
  otherLeast: number;
  /** Made when first compared in full, and kept: pages of one template meet each other again and again. */
  windows: Set<number> | undefined;
}

/** With fewer, there is too little text to call anything a copy of it. */
const fewestWindows = 8;
const sharedPartOfCopies = 0.6;

export function takeFingerprint(text: ShownText): Fingerprint {
  const windowCount = hashWindows(text);
  // Whole numbers below 2^31 are the ones that the engine keeps without a box.
  let least = 0x7fffffff;
  let otherLeast = 0x7fffffff;
  for (let index = 0; index < windowCount; index += 1) {
    const hash = windows[index] ?? 0;
    const other = Math.imul(hash ^ 0x5bd1e995, 0x9e3779b1);
    if (hash < least) least = hash;
    if (other < otherLeast) otherLeast = other;
  }
  return { text, windowCount, least, otherLeast, windows: undefined };
}

export function isCopyOfAny(one: Fingerprint, others: readonly Fingerprint[]): boolean {
  if (one.windowCount < fewestWindows) return false;
  for (const other of others) {
    if ((one.least === other.least || one.otherLeast === other.otherLeast) && areCopies(one, other)) return true;
  }
  return false;
}

function areCopies(one: Fingerprint, other: Fingerprint): boolean {
  if (other.windowCount < fewestWindows) return false;
  one.windows ??= windowSet(one.text);
  other.windows ??= windowSet(other.text);
  const [left, right] = [one.windows, other.windows];
  const shared = left.intersection(right).size;
  return shared >= sharedPartOfCopies * (left.size + right.size - shared);
}

function windowSet(text: ShownText): Set<number> {
  return new Set(windows.subarray(0, hashWindows(text)));
}

// Reused from call to call: nothing else runs between filling it and reading it. What is beyond it is not compared.
const mostWords = 128;
const windows = new Int32Array(mostWords);

/** Fills `windows` and says how many there are. Written for speed: it runs over every character that is shown. */
function hashWindows({ title = "", snippet = "" }: ShownText): number {
  // The last five words, the latest in `e`.
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let e = 0;
  let words = 0;
  for (let part = 0; part < 2; part += 1) {
    const text = part === 0 ? title : snippet;
    const { length } = text;
    let word = 0;
    for (let index = 0; index <= length && words < mostWords; index += 1) {
      const code = index === length ? endOfText : text.charCodeAt(index);
      const folded = code < 128 ? (foldedAscii[code] ?? 0) : foldBeyondAscii(code);
      if (folded !== 0) {
        word = (Math.imul(word ^ folded, 0x01000193) + 1) | 0;
        if (code < firstUnspaced || !isUnspaced(code)) continue;
      } else if (word === 0) continue;
      a = b;
      b = c;
      c = d;
      d = e;
      e = word;
      words += 1;
      word = 0;
      if (words >= 5) windows[words - 5] = mix(a, b, c, d, e);
    }
  }
  return Math.max(0, words - 4);
}

const endOfText = 0;
const firstUnspaced = 0x0e00;

function mix(a: number, b: number, c: number, d: number, e: number): number {
  let hash = (Math.imul(Math.imul(Math.imul(Math.imul(a, 31) + b, 31) + c, 31) + d, 31) + e) | 0;
  // Without this last stir the least hash would nearly always be one with the same last words.
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Letters and digits, capitals as small ones; 0 for what separates words. */
const foldedAscii = Uint8Array.from({ length: 128 }, (_, code) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(code)) ? code | 32 : 0,
);

function foldBeyondAscii(code: number): number {
  const isPunctuation =
    code < 0xc0 ||
    (code >= 0x2000 && code < 0x2070) ||
    (code >= 0x3000 && code < 0x3040) ||
    (code >= 0xff00 && code < 0xff10);
  return isPunctuation ? 0 : code;
}

/** Chinese, Japanese and Thai are written without spaces: there a character counts as a word. */
function isUnspaced(code: number): boolean {
  return code >= firstUnspaced && (code < 0x0e80 || (code >= 0x3040 && code < 0xa000));
}
