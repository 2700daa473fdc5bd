// Detects results with the same text, such as an agency report published by many sites.
//
// Each text is split into windows of five words, and two MinHash values of the set are kept. Sets with Jaccard similarity
// J share at least one of them with probability 1-(1-J)^2, so only pairs that do are compared in full. Comparing all pairs
// would cost more than the rest of the ranking.

export interface ShownText {
  title?: string;
  snippet?: string;
}

export interface Fingerprint {
  text: ShownText;
  windowCount: number;
  minHash: number;
  secondMinHash: number;
  /** Computed on the first full comparison and cached, because pages of one template are compared repeatedly. */
  windows: Set<number> | undefined;
}

/** A shorter text is never a copy. */
const minWindows = 8;
const copyThreshold = 0.6;

export function takeFingerprint(text: ShownText): Fingerprint {
  const windowCount = hashWindows(text);
  // V8 stores integers below 2^31 without boxing.
  let minHash = 0x7fffffff;
  let secondMinHash = 0x7fffffff;
  for (let index = 0; index < windowCount; index += 1) {
    const hash = windows[index] ?? 0;
    const other = Math.imul(hash ^ 0x5bd1e995, 0x9e3779b1);
    if (hash < minHash) minHash = hash;
    if (other < secondMinHash) secondMinHash = other;
  }
  return { text, windowCount, minHash, secondMinHash, windows: undefined };
}

export function isCopyOfAny(one: Fingerprint, others: readonly Fingerprint[]): boolean {
  if (one.windowCount < minWindows) return false;
  for (const other of others) {
    if ((one.minHash === other.minHash || one.secondMinHash === other.secondMinHash) && areCopies(one, other))
      return true;
  }
  return false;
}

function areCopies(one: Fingerprint, other: Fingerprint): boolean {
  if (other.windowCount < minWindows) return false;
  one.windows ??= windowSet(one.text);
  other.windows ??= windowSet(other.text);
  const [left, right] = [one.windows, other.windows];
  const shared = left.intersection(right).size;
  return shared >= copyThreshold * (left.size + right.size - shared);
}

function windowSet(text: ShownText): Set<number> {
  return new Set(windows.subarray(0, hashWindows(text)));
}

// A shared buffer: it is always read before it is filled again. Text beyond its length is not compared.
const maxWords = 128;
const windows = new Int32Array(maxWords);

/** Fills `windows` and returns their number. Optimized, because it processes every character of the results. */
function hashWindows({ title = "", snippet = "" }: ShownText): number {
  // Hashes of the last five words; `e` is the latest.
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
    for (let index = 0; index <= length && words < maxWords; index += 1) {
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
  // Without this final mix, the minimum hash would nearly always come from windows with the same last words.
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Lower-case letters and digits; 0 for separators. */
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

/** Chinese, Japanese and Thai are written without spaces, so each character counts as a word. */
function isUnspaced(code: number): boolean {
  return code >= firstUnspaced && (code < 0x0e80 || (code >= 0x3040 && code < 0xa000));
}
