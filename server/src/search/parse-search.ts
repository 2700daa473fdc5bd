import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { type Fault, parseJson } from "../http/read-json.ts";
import { Problem } from "../problems.ts";
import type { QueryLimit } from "../providers/provider.ts";
import { carries, widest } from "./query-limit.ts";

export const categories = ["programming", "research", "gov", "business"] as const;

export type Category = (typeof categories)[number];

/** What a caller asks for, after which nobody checks it again. */
export interface SearchInput {
  query: string;
  n: number;
  category?: Category;
}

const mostQueryCharacters = 2_048;

export const searchRequestSchema = Type.Object(
  {
    query: Type.String({
      description: `Search keywords, 1 to ${mostQueryCharacters} characters after outer white space is trimmed.`,
      examples: ["postgresql advisory locks"],
    }),
    n: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 20,
        default: 10,
        description: "How many results at most. The price is the same.",
      }),
    ),
    category: Type.Optional(
      Type.Enum([...categories], { description: "A hint what kind of source is wanted. Exact and case-sensitive." }),
    ),
  },
  { additionalProperties: false, title: "SearchRequest" },
);

const validator = Compile(searchRequestSchema);

/**
 * Turns the bytes of a body into a search, or refuses with every fault at once. Nothing is coerced or clamped, and a
 * query that no upstream can carry is refused, never cut. Without limits only our own counts.
 */
export function parseSearch(bytes: Buffer, limits: readonly QueryLimit[]): SearchInput {
  const body = parseJson(bytes);
  if (!validator.Check(body)) throw invalid(schemaFaults(body));
  const query = cleanQuery(body.query);
  if (!carries({ characters: mostQueryCharacters }, query)) throw tooLong({ characters: mostQueryCharacters });
  if (limits.length > 0 && !limits.some((limit) => carries(limit, query))) throw tooLong(widest(limits, query));
  return { query, n: body.n ?? 10, ...(body.category && { category: body.category }) };
}

const forbidden = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;

function cleanQuery(given: string): string {
  const query = given.replace(/[\t\n\r\u2028\u2029]/g, " ").trim();
  if (query === "") throw invalid([{ pointer: "#/query", code: "empty", detail: "must not be empty" }]);
  if (!query.isWellFormed() || forbidden.test(query)) {
    throw invalid([
      {
        pointer: "#/query",
        code: "invalid_characters",
        detail: "has a control character, noncharacter or lone surrogate",
      },
    ]);
  }
  return query;
}

function tooLong({ characters, words }: QueryLimit): Problem {
  const rule = `at most ${characters} characters${words === undefined ? "" : ` and ${words} words`}`;
  return new Problem("query_too_long", {
    members: {
      max_characters: characters,
      ...(words !== undefined && { max_words: words }),
      errors: [{ pointer: "#/query", code: "too_long", detail: rule }],
    },
  });
}

const rules: Record<string, Omit<Fault, "pointer">> = {
  "": { code: "wrong_type", detail: "must be one JSON object" },
  "/query": { code: "wrong_type", detail: "must be a string" },
  "/n": { code: "out_of_range", detail: "must be an integer from 1 to 20, as a JSON number" },
  "/category": {
    code: "unknown_category",
    detail: `must be one of ${categories.join(", ")}; exact and case-sensitive`,
  },
};

function schemaFaults(body: unknown): Fault[] {
  const faults = new Map<string, Fault>();
  for (const error of validator.Errors(body)) {
    if (error.keyword === "required") {
      faults.set("/query", { pointer: "#/query", code: "required", detail: "is required" });
    } else if (error.keyword === "boolean") {
      const pointer = `#${error.instancePath.slice(0, 100)}`;
      faults.set(pointer, {
        pointer,
        code: "unknown_field",
        detail: "is not a field; there are query, n and category",
      });
    } else if (error.keyword !== "additionalProperties") {
      const rule = rules[error.instancePath] ?? { code: "invalid", detail: "is not valid" };
      faults.set(error.instancePath, { pointer: `#${error.instancePath}`, ...rule });
    }
  }
  return [...faults.values()].slice(0, 20);
}

function invalid(errors: Fault[]): Problem {
  const places = errors.map((fault) => `${fault.pointer.slice(2) || "the body"} ${fault.detail}`).join("; ");
  return new Problem("invalid_request", {
    detail: `${places}. Nothing was charged. Correct it and send it again.`,
    members: { errors },
  });
}
