export interface QueryWords {
  /** Each word and each pair of adjacent words joined. */
  parts: ReadonlySet<string>;
  /** All words joined, with and without generic words, and their initials. */
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

export function readQueryWords(query: string): QueryWords {
  const all = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const names = all.filter((word) => !genericWords.has(word));
  const pairs = names.slice(1).map((word, index) => `${names[index]}${word}`);
  const initials = names.map((word) => word[0]).join("");
  return {
    parts: new Set([...names, ...pairs].filter(isLongEnough)),
    whole: new Set([all.join(""), names.join(""), initials].filter(isLongEnough)),
  };
}

function isLongEnough(name: string): boolean {
  return name.length >= minLetters;
}

/**
 * Whether the query, or part of it, is the name of the site. A subdomain label, such as `outlook` in outlook.live.com, must
 * match the whole query, because a single word of it is more often a topic than a name.
 */
export function namesSite(
  { parts, whole }: QueryWords,
  { name, labels }: { name: string; labels: readonly string[] },
): "whole" | "part" | undefined {
  const squeezed = name.includes("-") ? name.replaceAll("-", "") : name;
  if (whole.has(squeezed) || labels.some((label) => whole.has(label))) return "whole";
  return parts.has(squeezed) ? "part" : undefined;
}
