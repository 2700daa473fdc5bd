export interface Candidate {
  url: string;
  title: string;
  snippet: string;
}

/**
 * Generates realistic ranking input: half of the hosts are in a lens, a fifth of the URLs have parameters, one in twenty
 * results is a duplicate page and one in twenty a copied text. Deterministic.
 */
export function makeSearches({ searches, candidates, unknownHosts }: SearchesOptions): Candidate[][] {
  const random = seededRandom(7);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const text = (length: number): string => Array.from({ length }, () => pick(words)).join(" ");

  function makeCandidate(earlier: readonly Candidate[]): Candidate {
    const chance = random();
    if (chance < 0.05 && earlier.length > 0) return { ...pick(earlier), title: text(8) };
    const unknown = `www.site-${Math.floor(random() * unknownHosts)}.com`;
    const host = random() < 0.5 ? pick(knownHosts) : unknown;
    const address = `https://${host}/${pick(words)}/${pick(words)}-${pick(words)}-${Math.floor(random() * 1e6)}`;
    const url = random() < 0.2 ? `${address}?id=${Math.floor(random() * 1e6)}&utm_source=feed` : address;
    const copied = chance < 0.1 && earlier.length > 0 ? pick(earlier).snippet : text(32);
    return { url, title: text(8), snippet: copied };
  }

  return Array.from({ length: searches }, () => {
    const list: Candidate[] = [];
    for (let index = 0; index < candidates; index += 1) list.push(makeCandidate(list));
    return list;
  });
}

export interface SearchesOptions {
  searches: number;
  candidates: number;
  /** With fewer hosts, lookups hit the cache more often. */
  unknownHosts: number;
}

const knownHosts =
  `en.wikipedia.org www.nytimes.com www.bbc.co.uk stackoverflow.com docs.python.org github.com www.gov.uk
  www.nih.gov www.mayoclinic.org someone.github.io www.reddit.com www.youtube.com medium.com developer.mozilla.org
  www.nature.com arxiv.org www.lemonde.fr www.spiegel.de www.example.edu physics.example.ac.uk`.split(/\s+/);

const words =
  `harbour crane basin monday authority report safety notice window engine garden market letter station bridge
  winter account library travel ticket student doctor village mountain weather history science language picture number
  the of and to in is for on with by from as at that this it are was be or an`.split(/\s+/);

/** Deterministic random numbers in [0, 1). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
