// The interface of a dialect: another vendor's search API, served below /compat/ so that its clients can use Pennyblack
// with another base URL and key.
//
// A dialect is data and two pure functions. `parameters` lists every parameter of the vendor's API and how it is handled;
// to-search.ts applies the list, and the table on its page in docs/compat is generated from it. The search itself, with its
// hold, capture, limits and problems, is the same as for /v1/search.

import type { ProblemBody } from "../http/encode-problem.ts";
import type { Category } from "../providers/provider.ts";

export interface Dialect {
  /** Part of the path, and the name of its page in docs/compat. */
  name: string;
  /** The vendor's name. */
  title: string;
  /** The vendor's API documentation. */
  documentation: string;
  method: "GET" | "POST";
  /** Below /compat/<name>. Empty for the path itself. */
  path: string;
  /** A header, in lower case, that contains the key. `Authorization` and `x-api-key` are always accepted. */
  keyHeader?: string;
  /** Accepts the key as the password of `Authorization: Basic`, for clients that can only change the URL. */
  acceptsBasic?: boolean;
  /** Request headers, in lower case, with the ids of the end user and of the conversation. */
  idHeaders?: { user: string; run: string };
  /** The number of results if the request has none: the vendor's default. */
  defaultCount: number;
  parameters: Readonly<Record<string, Parameter>>;
  /** The vendor's response. Fields that no upstream provides are absent, or null where the vendor's schema requires them. */
  toResponse(answer: Answer, about: AboutResponse): unknown;
  /** Where the vendor's clients read an error. Replaces members of the problem with the same names. */
  toError(problem: ProblemBody): Record<string, unknown>;
}

/**
 * How a parameter is handled. Null, an empty string and an empty list count as absent.
 *   query, count   becomes `query`, or `n` with at most 20
 *   category       becomes `category`, or none for "any"; other values are refused as `topic`
 *   domains        domains that results must be from or must not be from, which narrow the source policy of the key. Refused as
 *                  `domains` if an entry is not a domain, or no upstream can restrict a search to them
 *   key            an API key beside the one in the headers, which must be the same
 *   ignored        does not change which results are returned: ignored and listed in Pennyblack-Ignored
 *   refused        would change the results, so that the request is refused, unless its group is ignored by request
 *   required       must have the given value
 */
export type Parameter =
  | { use: "query" }
  | { use: "count" }
  | { use: "key" }
  | { use: "category"; values: Readonly<Record<string, Category | "any">> }
  | { use: "domains"; list: DomainList }
  | { use: "ignored"; note?: string }
  | {
      use: "refused";
      /** The name in Pennyblack-Ignore. Without one, the parameter cannot be ignored. */
      group?: Group;
      /** Values that request what is returned anyway. */
      neutral?: readonly Scalar[];
      /** Values that clients send by default: ignored and listed. */
      defaults?: readonly Scalar[];
    }
  | { use: "required"; value: string };

/** In a list of "either", the domains to exclude start with a hyphen. */
export type DomainList = "only" | "block" | "either";

export type Scalar = string | number | boolean;

/** Groups of parameters that can be ignored by request, with the capability that is lost. */
export const groups = {
  domains: "restrict the sites",
  freshness: "restrict the dates",
  country: "set the country",
  language: "set the language",
  topic: "select another kind of search",
  text: "restrict the text of the pages",
  safesearch: "filter adult content",
  engines: "select the search engines",
  paging: "select another page",
  answer: "request a generated answer",
  content: "request the content of the pages",
  images: "request images",
} as const;

export type Group = keyof typeof groups;

/** The body of a response of /v1/search. */
export interface Answer {
  query: string;
  n: number;
  results: readonly { title: string; url: string; snippet: string; source: string }[];
}

export interface AboutResponse {
  requestId: string;
  /** The duration of the request. */
  seconds: number;
}
