import { createHash } from "node:crypto";

/**
 * A snippet without its text, from which ranking decides the same: words that share their first letters with a word of the
 * query are kept, and every other word is replaced by two characters of its hash, so that copies can still be recognized.
 */
export function maskText(text: string, query: string): string {
  const queryWords = wordsOf(query);
  const isKept = (word: string): boolean =>
    queryWords.some((queryWord) => {
      return word === queryWord || (queryWord.length >= stemLength && word.startsWith(queryWord.slice(0, stemLength)));
    });
  const masked = wordsOf(text).map((word) => (isKept(word) ? word : codeOf(word)));
  const clash = masked.find((word) => /^\d[a-z]$/.test(word) && queryWords.includes(word));
  if (clash !== undefined) throw new Error(`the code ${clash} is a word of the query: ${query}`);
  return masked.join(" ");
}

/** Light stemming, the most that ranking could do, leaves at least this many letters. */
const stemLength = 3;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** A digit and a letter, which few words of a text or query look like. */
function codeOf(word: string): string {
  const [first = 0, second = 0] = createHash("sha256").update(word).digest();
  return `${first % 10}${String.fromCharCode(97 + (second % 26))}`;
}
