import { decodeHTMLStrict } from "entities";
import { parseWebUrl } from "../lib/web-url.ts";
import type { Hit } from "../providers/provider.ts";

export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
  source: string;
}

/**
 * Sanitizes upstream results. Their text comes from arbitrary web pages and is read by people, browsers and language
 * models, so markup, bidirectional controls and invisible characters are removed. Results without a valid URL are dropped.
 */
export function cleanResults(hits: readonly Hit[]): CleanResult[] {
  return hits.flatMap((hit) => {
    const url = parseWebUrl(hit.url);
    return url === undefined ? [] : [new CleanResult(hit, url)];
  });
}

/** Cleans each text when it is first read, because ranking reads and returns only about half of an upstream's results. */
class CleanResult implements SearchResult {
  readonly url: string;
  /** The hostname of the URL. */
  readonly host: string;
  readonly source: string;
  readonly #hit: Hit;
  #title: string | undefined;
  #snippet: string | undefined;

  constructor(hit: Hit, { href, hostname }: URL) {
    this.url = href;
    this.host = hostname;
    this.source = hostname.startsWith("www.") ? hostname.slice(4) : hostname;
    this.#hit = hit;
  }

  get title(): string {
    this.#title ??= cleanText(this.#hit.title, 300) || this.source;
    return this.#title;
  }

  get snippet(): string {
    this.#snippet ??= cleanText(this.#hit.snippet, 1000);
    return this.#snippet;
  }

  /** A plain object, as it is sent to the caller. */
  toPlain(): SearchResult {
    return { title: this.title, url: this.url, snippet: this.snippet, source: this.source };
  }
}

/** The length of text that is cleaned, in multiples of the length returned. Results have far less markup. */
const maxMarkup = 2;

/** The order matters: an entity can encode a hidden character, and a hidden character can split a tag name. */
function cleanText(whole: string, maxLength: number): string {
  const isCut = whole.length > maxMarkup * maxLength;
  const raw = isCut ? whole.slice(0, maxMarkup * maxLength).replace(unfinishedEntity, "") : whole;
  // Most text needs none of these steps, and testing is far cheaper than replacing.
  const decoded = raw.includes("&") ? decodeHTMLStrict(raw) : raw;
  const isPrintableAscii = !beyondPrintableAscii.test(decoded);
  const visible = isPrintableAscii ? decoded : decoded.replace(hiddenCharacters, "");
  const stripped = visible.includes("<") ? stripTags(isCut ? visible.replace(unfinishedTag, "") : visible) : visible;
  const hasLooseSpace = isPrintableAscii ? hasLooseBlank(stripped) : looseSpace.test(stripped);
  const text = hasLooseSpace ? stripped.replace(/\s+/g, " ").trim() : stripped;
  const start = truncate(text, maxLength);
  // Twice, because truncation can turn `<bold` into `<b`.
  return fit(fit(start, maxLength), maxLength);
}

// At the end of a text that was cut, half an entity or tag would be shown as text. Half a surrogate pair is a hidden character.
const unfinishedEntity = /&#?[A-Za-z0-9]*$/;
const unfinishedTag = /<[A-Za-z/!][^<>]*$/;

const beyondPrintableAscii = /[^ -~]/;
const looseSpace = /^\s|\s$|\s\s|[^\S ]/;

/** A faster `looseSpace` for printable ASCII, whose only white space is the blank. */
function hasLooseBlank(text: string): boolean {
  return text.startsWith(" ") || text.endsWith(" ") || text.includes("  ");
}

// White space is collapsed instead. Default_Ignorable_Code_Point covers bidi controls, zero-width characters, variation
// selectors and the tag block, which can hide whole sentences. With the u flag, Surrogate matches only lone surrogates.
const hiddenCharacters =
  /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Noncharacter_Code_Point}\p{Surrogate}\uFFF9-\uFFFB]|(?!\s)\p{Cc}/gu;

function fit(text: string, maxLength: number): string {
  return truncate(text.includes("<") ? escapeTags(text) : text, maxLength);
}

/** Counts code points, as the limits of the API do. */
function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  let end = 0;
  for (let count = 0; count < maxLength && end < text.length; count += 1)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return end === text.length ? text : text.slice(0, end).trimEnd();
}

/** Removes comments and tags of HTML elements only: `vector<int>` is text. */
function stripTags(text: string): string {
  return text.replace(blockTags, " ").replace(inlineTags, "");
}

/** A space after the `<` makes a tag text. Repeating the removal until nothing changes could take too long. */
function escapeTags(text: string): string {
  return text.replace(remainingTags, "< ");
}

// Removed without a space: `un<b>believ</b>able` is one word.
const inlineElements =
  `a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s
  samp small span strike strong sub sup time tt u var wbr`.split(/\s+/);

const blockElements =
  `address applet area article aside audio base basefont blink blockquote body br button canvas caption
  center col colgroup datalist dd details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset
  h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input legend li link main map marquee math menu menuitem meta
  meter nav noembed noframes noscript object ol optgroup option output p param picture plaintext portal pre progress
  script search section select slot source style summary svg table tbody td template textarea tfoot th thead title tr
  track ul video xmp`.split(/\s+/);

/** HTML tags are all lower case or, on old pages, all upper case; `List<Object>` and `Option<A>` are source code. */
function tagOf(elements: readonly string[]): string {
  const names = elements.flatMap((name) => (name.length > 1 ? [name, name.toUpperCase()] : [name]));
  return `</?(?:${names.join("|")})(?=[\\s/>])[^<>]*>`;
}

// Patterns with all names, because a function called for each tag takes ten times as long. No part matches across another `<`,
// which keeps them linear in the length of the text. An unclosed comment extends to the end, as in a browser.
const blockTags = new RegExp(`<!--.*?(?:-->|$)|<!(?:doctype|DOCTYPE)\\b[^<>]*>|${tagOf(blockElements)}`, "gs");
const inlineTags = new RegExp(tagOf(inlineElements), "g");

// Anything a browser would still parse as a tag: unfinished, in mixed case, or formed from two halves around a removed tag.
const remainingTags = new RegExp(
  `<(?=!--|!doctype|/?(?:${[...inlineElements, ...blockElements].join("|")})(?:[\\s/>]|$))`,
  "gi",
);
