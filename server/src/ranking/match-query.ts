import type { ShownText } from "./near-copies.ts";

/** 2: the title has every term of the query. 1: title and snippet together have them. 0: a term is missing. */
export type MatchLevel = 0 | 1 | 2;

/** English function words. A query in another language has more terms, so fewer pages have all of them. */
const stopWords = new Set(
  `a an and are as at be by can do does for from how i in into is it my of on or that the this to was what when where
  which who why will with you your`.split(/\s+/),
);

/** The distinct words of a query without stop words and endings. */
export function readTerms(words: readonly string[]): readonly string[] {
  const terms = words.filter((word) => !stopWords.has(word));
  return [...new Set((terms.length > 0 ? terms : words).map(withoutEnding))];
}

const minStemLength = 3;
const endings = ["ing", "ies", "es", "ed", "e", "y", "s"];

/** A word of the text counts if it starts with the rest, so `locks` also matches `locking`. */
function withoutEnding(word: string): string {
  for (const ending of endings) {
    const stemLength = word.length - ending.length;
    if (stemLength >= (ending.length === 1 ? minStemLength : minStemLength + 1) && word.endsWith(ending))
      return word.slice(0, stemLength);
  }
  return word;
}

/** Without terms, every page is on the same level. Returns early, because it reads every result. */
export function matchQuery({ title = "", snippet = "" }: ShownText, terms: readonly string[]): MatchLevel {
  const titleText = title.toLowerCase();
  let snippetText: string | undefined;
  for (const term of terms) {
    if (hasTerm(titleText, term)) continue;
    snippetText ??= snippet.toLowerCase();
    if (!hasTerm(snippetText, term)) return 0;
  }
  return snippetText === undefined ? 2 : 1;
}

/** Whether a word of the text starts with the term or, if the term is short, is the term. */
function hasTerm(text: string, term: string): boolean {
  for (let start = text.indexOf(term); start >= 0; start = text.indexOf(term, start + 1)) {
    const isStart = start === 0 || !isInsideWord(text.charCodeAt(start - 1));
    const end = start + term.length;
    const isEnd = term.length >= minStemLength || end === text.length || !isInsideWord(text.charCodeAt(end));
    if (isStart && isEnd) return true;
  }
  return false;
}

const firstLetterBeyondAscii = 0xc0;
// Thai, Chinese, Japanese and others are written without spaces, so their words can start anywhere.
const firstUnspaced = 0x0e00;

function isInsideWord(code: number): boolean {
  if (code >= firstLetterBeyondAscii) return code < firstUnspaced;
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
}
