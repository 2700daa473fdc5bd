export interface QueryWords {
  /** Each word, and each two neighbours joined, that could be the name of a site. */
  parts: ReadonlySet<string>;
  /** All words joined, with and without those that only say what is wanted of the site, and their first letters. */
  whole: ReadonlySet<string>;
}

/** Words that people add to the name of a site they want to reach. They name no site themselves. */
const wishes = new Set(
  `www com org net http https website web site sites homepage home page official online login log signin sign account
  app apps download downloads install free best buy shop store sale jobs careers news map maps show video videos email
  mail support help phone number contact customer service near the and for how what anmelden anmeldung kostenlos
  connexion compte gratuit iniciar sesion cuenta entrar conta accedi logowanie inloggen`.split(/\s+/),
);

const fewestLetters = 3;

export function readQueryWords(query: string): QueryWords {
  const all = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const names = all.filter((word) => !wishes.has(word));
  const pairs = names.slice(1).map((word, index) => `${names[index]}${word}`);
  const initials = names.map((word) => word[0]).join("");
  return {
    parts: new Set([...names, ...pairs].filter(isLongEnough)),
    whole: new Set([all.join(""), names.join(""), initials].filter(isLongEnough)),
  };
}

function isLongEnough(name: string): boolean {
  return name.length >= fewestLetters;
}

/**
 * Is the query the name of the site, or does a part of it name the site? What stands before the registered name, such as
 * `outlook` of outlook.live.com, must be the whole query: there a single word is more often a subject than a name.
 */
export function namesSite(
  { parts, whole }: QueryWords,
  { name, labels }: { name: string; labels: readonly string[] },
): "whole" | "part" | undefined {
  const squeezed = name.includes("-") ? name.replaceAll("-", "") : name;
  if (whole.has(squeezed) || labels.some((label) => whole.has(label))) return "whole";
  return parts.has(squeezed) ? "part" : undefined;
}
