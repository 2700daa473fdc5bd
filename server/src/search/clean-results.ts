import { decodeHTMLStrict } from "entities";
import type { Hit } from "../providers/provider.ts";

export interface SearchResult {
  title: string;
  url: string;
  snippet: string;
  source: string;
}

/**
 * Makes what an upstream sent fit to show. The text comes from pages that anyone can write, and it is read by people, by
 * browsers and by language models: it must not carry markup, turn the reading direction or hide words from the eye.
 * A result without a usable address is dropped.
 */
export function cleanResults(hits: Hit[]): SearchResult[] {
  return hits.flatMap((hit) => {
    const url = parseWebUrl(hit.url);
    if (url === undefined) return [];
    const source = url.hostname.replace(/^www\./, "");
    const title = cleanText(hit.title, 300) || source;
    return [{ title, url: url.href, snippet: cleanText(hit.snippet, 1000), source }];
  });
}

function parseWebUrl(text: string): URL | undefined {
  if (hostBeyondAllNames.test(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return undefined;
  return url.username === "" && url.password === "" ? url : undefined;
}

// A host has at most 253 characters, and a port six. Translating a longer one from another script takes the parser a time
// that grows with the square of its length: three seconds for the most that an upstream may send.
const hostBeyondAllNames = /^[^:]*:[\\/\s]*[^\\/?#]{260}/;

/** In this order: an entity may spell a hidden character, and a hidden character may split the name of a tag. */
function cleanText(raw: string, longest: number): string {
  // Each step only where it has something to do. Most text needs none, and looking is far cheaper than rewriting.
  const decoded = raw.includes("&") ? decodeHTMLStrict(raw) : raw;
  const visible = beyondPrintableAscii.test(decoded) ? decoded.replace(hiddenCharacters, "") : decoded;
  const stripped = visible.includes("<") ? stripTags(visible) : visible;
  const text = looseSpace.test(stripped) ? stripped.replace(/\s+/g, " ").trim() : stripped;
  // Twice: the cut may shorten `<bold` to `<b`.
  return fit(fit(text, longest), longest);
}

const beyondPrintableAscii = /[^ -~]/;
const looseSpace = /^\s|\s$|\s\s|[^\S ]/;

// White space is folded instead. Default_Ignorable_Code_Point has the bidi controls, everything of zero width, the
// variation selectors and the tag block, in which whole sentences can be hidden. Surrogate matches only lone ones.
const hiddenCharacters =
  /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Noncharacter_Code_Point}\p{Surrogate}\uFFF9-\uFFFB]|(?!\s)\p{Cc}/gu;

function fit(text: string, longest: number): string {
  const harmless = text.includes("<") ? text.replace(openingsOfTags, "< ") : text;
  return harmless.length <= longest ? harmless : Array.from(harmless).slice(0, longest).join("").trimEnd();
}

/** Takes out comments and the tags of HTML's own elements, and nothing else: `vector<int>` is text. */
function stripTags(text: string): string {
  return text.replace(tags, (tag, element?: string) => (inlineElements.has(element?.toLowerCase() ?? "") ? "" : " "));
}

// Tags of these leave no gap: `un<b>believ</b>able` is one word.
const inlineElements = new Set(
  `a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small span
  strike strong sub sup time tt u var wbr`.split(/\s+/),
);

const elements = [
  ...inlineElements,
  ...`address applet area article aside audio base basefont blink blockquote body br button canvas caption center col
  colgroup datalist dd details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3
  h4 h5 h6 head header hgroup hr html iframe img input legend li link main map marquee math menu menuitem meta meter nav
  noembed noframes noscript object ol optgroup option output p param picture plaintext portal pre progress script search
  section select slot source style summary svg table tbody td template textarea tfoot th thead title tr track ul video
  xmp`.split(/\s+/),
];

// A tag is written in small letters or, on old pages, in capitals; `List<Object>` and `Option<A>` are source code.
const written = elements.flatMap((name) => (name.length > 1 ? [name, name.toUpperCase()] : [name])).join("|");

// No part of it can run over another `<`, so the time taken grows with the text and not with its square. An unclosed
// comment reaches to the end, as in a browser.
const tags = new RegExp(`<!--.*?(?:-->|$)|<!(?:doctype|DOCTYPE)\\b[^<>]*>|</?(${written})(?=[\\s/>])[^<>]*>`, "gs");

// What still looks like a tag to a browser afterwards, be it unfinished, oddly spelled or joined from two halves around
// one that was taken out: a space after the `<` makes it text. Repeating the removal instead could take for ever.
const openingsOfTags = new RegExp(`<(?=!--|!doctype|/?(?:${elements.join("|")})(?:[\\s/>]|$))`, "gi");
