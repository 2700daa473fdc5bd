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

// Shared buffers: they are always read before they are filled again. Text beyond their length is not compared.
const maxWords = 128;
const words = new Int32Array(maxWords);
const windows = new Int32Array(maxWords);

const windowWords = 5;
/** 31 ** 5: what the first word of a window is multiplied by when the next word has been added. */
const outgoing = 28_629_151;

/** Fills `windows` and returns their number. */
function hashWindows({ title = "", snippet = "" }: ShownText): number {
  const count = hashWords(snippet, hashWords(title, 0));
  let rolling = 0;
  for (let index = 0; index < count; index += 1) {
    rolling = (Math.imul(rolling, 31) + (words[index] ?? 0)) | 0;
    if (index >= windowWords) rolling = (rolling - Math.imul(words[index - windowWords] ?? 0, outgoing)) | 0;
    if (index >= windowWords - 1) windows[index - windowWords + 1] = mix(rolling);
  }
  return Math.max(0, count - windowWords + 1);
}

/** Without this, the minimum hash would nearly always come from windows with the same last words. */
function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

/** Adds the words of a text to `words` and returns their number. Optimized, because it processes every character. */
function hashWords(text: string, countBefore: number): number {
  const { length } = text;
  let count = countBefore;
  let word = 0;
  for (let index = 0; index < length && count < maxWords; index += 1) {
    const code = text.charCodeAt(index);
    const folded = code < 128 ? (foldedAscii[code] ?? 0) : foldBeyondAscii(code);
    if (folded !== 0) {
      word = (Math.imul(word ^ folded, 0x01000193) + 1) | 0;
      if (code < firstUnspaced || !isUnspaced(code)) continue;
    } else if (word === 0) continue;
    words[count] = word;
    count += 1;
    word = 0;
  }
  if (word === 0 || count === maxWords) return count;
  words[count] = word;
  return count + 1;
}

const firstUnspaced = 0x0e00;

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
