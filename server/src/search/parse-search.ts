import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { type Fault, invalidInput, parseJson } from "../http/read-json.ts";
import { Problem } from "../problems/problems.ts";
import type { QueryLimit } from "../providers/provider.ts";
import { accepts, widest } from "./query-limit.ts";

export const categories = ["programming", "research", "gov", "business"] as const;

export type Category = (typeof categories)[number];

/** A validated search. */
export interface SearchInput {
  query: string;
  n: number;
  category?: Category;
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

/**
 * Parses a request body, or throws a problem that lists every fault. Values are never coerced or clamped, and a query that
 * no upstream accepts is rejected, never truncated. Without upstream limits, only our own applies.
 */
export function parseSearch(bytes: Buffer, limits: readonly QueryLimit[]): SearchInput {
  const body = parseJson(bytes);
  if (!validator.Check(body)) throw invalidInput(schemaFaults(body));
  const query = cleanQuery(body.query);
  if (!accepts({ characters: maxQueryCharacters }, query)) throw tooLong({ characters: maxQueryCharacters });
  if (limits.length > 0 && !limits.some((limit) => accepts(limit, query))) throw tooLong(widest(limits, query));
  return { query, n: body.n ?? 10, ...(body.category && { category: body.category }) };
}

const forbidden = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;

function cleanQuery(text: string): string {
  const query = text.replace(/[\t\n\r\u2028\u2029]/g, " ").trim();
  if (query === "") throw invalidInput([{ pointer: "#/query", code: "empty", detail: "must not be empty" }]);
  if (!query.isWellFormed() || forbidden.test(query)) {
    throw invalidInput([
      {
        pointer: "#/query",
        code: "invalid_characters",
        detail: "must not contain control characters, noncharacters or lone surrogates",
      },
    ]);
  }
  return query;
}

function tooLong({ characters, words }: QueryLimit): Problem {
  const limit = `${characters} characters${words === undefined ? "" : ` and ${words} words`}`;
  return new Problem("query_too_long", {
    members: {
      max_characters: characters,
      ...(words !== undefined && { max_words: words }),
      errors: [{ pointer: "#/query", code: "too_long", detail: `at most ${limit}` }],
    },
    values: { limit },
  });
}

const rules: Record<string, Omit<Fault, "pointer">> = {
  "": { code: "wrong_type", detail: "must be a JSON object" },
  "/query": { code: "wrong_type", detail: "must be a string" },
  "/n": { code: "out_of_range", detail: "must be an integer from 1 to 20, as a JSON number" },
  "/category": {
    code: "unknown_category",
    detail: `must be one of ${categories.join(", ")}; case-sensitive`,
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
        detail: "is not a known field; the fields are query, n and category",
      });
    } else if (error.keyword !== "additionalProperties") {
      const rule = rules[error.instancePath] ?? { code: "invalid", detail: "is not valid" };
      faults.set(error.instancePath, { pointer: `#${error.instancePath}`, ...rule });
    }
  }
  return [...faults.values()].slice(0, 20);
}
