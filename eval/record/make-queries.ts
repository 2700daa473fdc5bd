import { createHash } from "node:crypto";

// The rule behind eval/relevance/known-item.jsonl, which the README there describes.

/** A page of the index with the names that its authors gave it. */
export interface NamedPage {
  url: string;
  title: string;
  headings: readonly string[];
}

export interface KnownItemQuery {
  query: string;
  form: "title" | "heading" | "subject";
  relevant: [url: string];
}

/** The books, and the word for their subject that a person would add to a query. */
const books: readonly { prefix: string; subject: string }[] = [
  { prefix: "https://www.postgresql.org/", subject: "postgresql" },
  { prefix: "https://docs.python.org/", subject: "python" },
  { prefix: "https://httpd.apache.org/", subject: "apache" },
  { prefix: "https://www.kernel.org/", subject: "git" },
  { prefix: "https://debian-handbook.info/", subject: "debian" },
  { prefix: "https://www.debian.org/", subject: "debian" },
  { prefix: "https://manpages.debian.org/", subject: "linux" },
];

const forms = ["title", "heading", "subject"] as const;
const maxPerBookAndForm = 16;

/** Queries that each name one page, with that page. Deterministic. */
export function makeQueries(all: readonly NamedPage[]): KnownItemQuery[] {
  // Some pages are translations.
  const pages = all
    .filter(({ title }) => !/[^\P{L}a-z]/iu.test(title))
    .map((page) => ({ url: page.url, ...namesOf(page) }));
  const names = pages.flatMap(({ url, titles, headings }) => [...titles, ...headings].map((name) => ({ name, url })));
  const byName = Map.groupBy(names, ({ name }) => name);
  const isUnique = (name: string): boolean => byName.get(name)?.length === 1;
  return books.flatMap(({ prefix, subject }) => {
    const own = pages.filter(({ url }) => url.startsWith(prefix));
    return forms.flatMap((form) => {
      const queries = own.flatMap(({ url, ...page }) => {
        const usable = candidatesOf(page, form).filter((name) => isUnique(name) && isUsable(name, form));
        const named = form === "subject" ? usable.filter((name) => !name.includes(subject)) : usable;
        return named.map((name): KnownItemQuery => {
          return { query: form === "subject" ? `${subject} ${name}` : name, form, relevant: [url] };
        });
      });
      return sample(queries);
    });
  });
}

interface Names {
  titles: readonly string[];
  headings: readonly string[];
}

function candidatesOf({ titles, headings }: Names, form: KnownItemQuery["form"]): readonly string[] {
  if (form === "subject") return [...titles, ...headings];
  return form === "title" ? titles : headings;
}

const maxWords = 7;
const maxWordsAfterSubject = 4;

function isUsable(name: string, form: KnownItemQuery["form"]): boolean {
  const count = name.split(" ").length;
  return form === "subject" ? count <= maxWordsAfterSubject : count >= 2 && count <= maxWords;
}

function namesOf(page: NamedPage): Names {
  const titles = [...new Set(splitTitle(page.title).map(toWords).filter(hasLetter))];
  const plain = page.headings.map((heading) => withoutNumber(heading).replace(/\(\d\w*\) Manual Page$/, ""));
  const headings = new Set(plain.map(toWords).filter(hasLetter));
  return { titles, headings: [...headings].filter((name) => !titles.includes(name)) };
}

/** The name of a manual page or module and its description, or the whole title. The name of the book is left out. */
function splitTitle(title: string): string[] {
  const [name = "", description] = withoutNumber(title.replace(bookName, "")).split(/ [-—] (.*)/);
  const plainName = name.replace(/\(\d\w*\).*$/, "");
  return description === undefined ? [plainName] : [plainName, description];
}

const bookName =
  / [-—] (?:Python [\d.]+ documentation|Apache HTTP Server Version .*|Debian Policy Manual .*|developers-reference .*)$/;

function withoutNumber(name: string): string {
  return name.replace(/^(?:(?:Chapter|Appendix|Part) [A-Z\d]+\.?|(?:[A-Z]|\d+)(?:\.\d+)*\.)\s+/, "");
}

/** Lower-case words. Punctuation is kept only inside a word, such as `read/write` or `pg_locks`. */
function toWords(name: string): string {
  const words = name
    .normalize("NFKC")
    .replaceAll("’", "'")
    .toLowerCase()
    .split(/[^\p{L}\p{N}_+#./'-]+/u);
  return words
    .map((word) => word.replace(/^[./'-]+|[./'-]+$/g, ""))
    .filter(Boolean)
    .join(" ");
}

function hasLetter(name: string): boolean {
  return /[a-z]/.test(name);
}

/** The first ones in the order of their hash, at most one per page, so that we choose none of them. */
function sample(queries: readonly KnownItemQuery[]): KnownItemQuery[] {
  const hashOf = ({ query, relevant }: KnownItemQuery): string =>
    createHash("sha256").update(`${query} ${relevant[0]}`).digest("hex");
  const sorted = queries
    .map((query) => ({ query, hash: hashOf(query) }))
    .toSorted((a, b) => (a.hash < b.hash ? -1 : 1));
  const isFirstOfPage = new Map(sorted.toReversed().map(({ query }) => [query.relevant[0], query]));
  const distinct = sorted.filter(({ query }) => isFirstOfPage.get(query.relevant[0]) === query);
  return distinct.slice(0, maxPerBookAndForm).map(({ query }) => query);
}
