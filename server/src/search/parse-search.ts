import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { type Fault, fieldFault, invalidInput } from "../http/input/faults.ts";
import { describeFaults, parseJson } from "../http/input/read-json.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";
import type { QueryLimit } from "../providers/provider.ts";
import { accepts, countWords, widest } from "./query-limit.ts";

export const categories = ["programming", "research", "gov", "business"] as const;

export type Category = (typeof categories)[number];

/** A validated search. */
export interface SearchInput {
  query: string;
  n: number;
  category?: Category;
  /** The domains that the request allows, before the policy of its key is applied. Not part of the body. */
  requested?: SourcePolicy;
}

const maxQueryCharacters = 2_048;

export const searchRequestSchema = Type.Object(
  {
    query: Type.String({
      description: `Search keywords, 1 to ${maxQueryCharacters} characters after trimming white space.`,
      examples: ["postgresql advisory locks"],
    }),
    n: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 20,
        default: 10,
        description: "Maximum number of results. The price does not depend on it.",
      }),
    ),
    category: Type.Optional(
      Type.Enum([...categories], {
        title: "Category",
        description: "Hint for the kind of source to prefer. Case-sensitive.",
      }),
    ),
  },
  { additionalProperties: false, title: "SearchRequest" },
);

const validator = Compile(searchRequestSchema);

/** Names of the same fields in other search APIs. */
const aliases: Record<string, string> = {
  q: "query",
  text: "query",
  search: "query",
  keywords: "query",
  prompt: "query",
  num: "n",
  count: "n",
  limit: "n",
  size: "n",
  top_k: "n",
  num_results: "n",
  max_results: "n",
  topic: "category",
  lens: "category",
};

/**
 * Parses a request body, or throws a problem that lists every fault. Values are never coerced or clamped, and a query that
 * no upstream accepts is rejected, never truncated. Without upstream limits, only our own applies.
 */
export function parseSearch(bytes: Buffer, limits: readonly QueryLimit[]): SearchInput {
  const body = parseJson(bytes);
  const isValid = validator.Check(body);
  const faults = isValid ? [] : describeFaults(searchRequestSchema, body, aliases);
  const text = readText(body);
  const query = cleanQuery(text ?? "");
  const fault = text === undefined ? undefined : findQueryFault(query);
  if (fault) faults.push(fault);
  if (!isValid || faults.length > 0) throw invalidInput(faults);
  if (!accepts({ characters: maxQueryCharacters }, query)) throw tooLong({ characters: maxQueryCharacters }, query);
  if (limits.length > 0 && !limits.some((limit) => accepts(limit, query))) throw tooLong(widest(limits, query), query);
  return { query, n: body.n ?? 10, ...(body.category && { category: body.category }) };
}

/** The query of a body whose other fields may be invalid. */
function readText(body: unknown): string | undefined {
  const { query } = (body ?? {}) as { query?: unknown };
  return typeof query === "string" ? query : undefined;
}

const forbidden = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;

function cleanQuery(text: string): string {
  return text.replace(/[\t\n\r\u2028\u2029]/g, " ").trim();
}

function findQueryFault(query: string): Fault | undefined {
  if (query === "") return fieldFault("query", "must not be empty", "empty");
  if (query.isWellFormed() && !forbidden.test(query)) return undefined;
  const detail = "must not contain control characters, noncharacters or lone surrogates";
  return fieldFault("query", detail, "invalid_characters");
}

function tooLong({ characters: maxCharacters, words: maxWords }: QueryLimit, query: string): Problem {
  const characters = [...query].length;
  const words = countWords(query);
  const hasFewCharacters = maxWords !== undefined && characters <= maxCharacters;
  const [actual, limit] = hasFewCharacters
    ? [`${words} words`, `${maxWords} words`]
    : [`${characters} characters`, `${maxCharacters} characters`];
  return new Problem("query_too_long", {
    members: {
      characters,
      max_characters: maxCharacters,
      ...(maxWords !== undefined && { words, max_words: maxWords }),
      errors: [fieldFault("query", `must have at most ${limit}, but has ${actual}`, "too_long")],
    },
    values: { actual, limit },
  });
}
