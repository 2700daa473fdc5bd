export interface QueryWords {
  /** Each word and each pair of adjacent words joined. */
  parts: ReadonlySet<string>;
  /** All words joined, with and without generic words, and abbreviated. */
  whole: ReadonlySet<string>;
}

/** Words that people add to the name of a site they are looking for. They do not name a site themselves. */
const genericWords = new Set(
  `www com org net http https website web site sites homepage home page official online login log signin sign account
  app apps download downloads install free best buy shop store sale jobs careers news map maps show video videos email
  mail support help phone number contact customer service near the and for how what anmelden anmeldung kostenlos
  connexion compte gratuit iniciar sesion cuenta entrar conta accedi logowanie inloggen`.split(/\s+/),
);

const minLetters = 3;
// The upstream's own first place is evidence that a word of two letters is a name, and that a misspelled word is meant as
// one.
const minLettersOfFirst = 2;
const minLettersMisspelled = 5;
const maxAbbreviatedWords = 6;

/** Lower-case words in their order. */
export function splitWords(query: string): readonly string[] {
  return query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

export function readQueryWords(all: readonly string[]): QueryWords {
  const names = all.filter((word) => !genericWords.has(word));
  const pairs = names.slice(1).map((word, index) => `${names[index]}${word}`);
  return {
    parts: new Set([...names, ...pairs].filter(isLongEnough)),
    whole: new Set([all.join(""), names.join(""), ...abbreviate(names)].filter(isLongEnough)),
  };
}

/** The initials of all words, or of the first ones followed by the others: `nyt` and `nytimes` for new york times. */
function abbreviate(names: readonly string[]): string[] {
  const initials = names.map((word) => word[0]).join("");
  if (names.length > maxAbbreviatedWords) return [initials];
  return names.map((_, index) => initials.slice(0, index + 1) + names.slice(index + 1).join(""));
}

function isLongEnough(name: string): boolean {
  return name.length >= minLettersOfFirst;
}

/**
 * Whether the query, or part of it, is the name of the site (`exact-name`, `navigational`). A subdomain label, such as `outlook` in outlook.live.com, must
 * match the whole query, because a single word of it is more often a topic than a name. For the upstream's first result,
 * two letters and one misspelled letter are accepted as well.
 */
export function namesSite(
  { parts, whole }: QueryWords,
  { name, labels, isFirst = false }: { name: string; labels: readonly string[]; isFirst?: boolean },
): "exact-name" | "navigational" | undefined {
  const squeezed = name.includes("-") ? name.replaceAll("-", "") : name;
  if (labels.some((label) => label.length >= minLetters && whole.has(label))) return "exact-name";
  if (squeezed.length < (isFirst ? minLettersOfFirst : minLetters)) return undefined;
  if (whole.has(squeezed)) return "exact-name";
  if (parts.has(squeezed)) return "navigational";
  const isMisspelled = (word: string): boolean => word.length >= minLettersMisspelled && isOneEdit(word, squeezed);
  return isFirst && ([...whole].some(isMisspelled) || [...parts].some(isMisspelled)) ? "navigational" : undefined;
}

/** One letter added, missing or replaced, or two neighbors swapped. */
function isOneEdit(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > 1) return false;
  let start = 0;
  while (start < left.length && left[start] === right[start]) start += 1;
  const [restLeft, restRight] = [left.slice(start), right.slice(start)];
  if (left.length > right.length) return restLeft.slice(1) === restRight;
  if (left.length < right.length) return restLeft === restRight.slice(1);
  const isSwap =
    restLeft[0] === restRight[1] && restLeft[1] === restRight[0] && restLeft.slice(2) === restRight.slice(2);
  return isSwap || restLeft.slice(1) === restRight.slice(1);
}
