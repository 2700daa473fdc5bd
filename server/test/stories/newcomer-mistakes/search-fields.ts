import { type Mistake, search } from "./mistake.ts";

// The fields of a search.

export const fieldMistakes: Mistake[] = [
  [
    "q instead of query",
    search({ q: "cats" }),
    "400 invalid_request",
    "`query` is required; `q` is not a known field (did you mean `query`?).",
    [
      ["#/query", "required", "is required"],
      ["#/q", "unknown_field", "is not a known field (did you mean `query`?)"],
    ],
  ],
  [
    "a misspelt field",
    search({ query: "cats", catgory: "research" }),
    "400 invalid_request",
    "`catgory` is not a known field (did you mean `category`?).",
    [["#/catgory", "unknown_field", "is not a known field (did you mean `category`?)"]],
  ],
  [
    "limit instead of n",
    search({ query: "cats", limit: 5 }),
    "400 invalid_request",
    "`limit` is not a known field (did you mean `n`?).",
    [["#/limit", "unknown_field", "is not a known field (did you mean `n`?)"]],
  ],
  [
    "a field of another API",
    search({ query: "cats", safe_search: true }),
    "400 invalid_request",
    "`safe_search` is not a known field; the fields are `query`, `n` and `category`.",
    [["#/safe_search", "unknown_field", "is not a known field; the fields are `query`, `n` and `category`"]],
  ],
  [
    "an empty query",
    search({ query: "  " }),
    "400 invalid_request",
    "`query` must not be empty.",
    [["#/query", "empty", "must not be empty"]],
  ],
  [
    "a list of queries",
    search({ query: ["cats", "dogs"] }),
    "400 invalid_request",
    "`query` must be a string, but is an array.",
    [["#/query", "wrong_type", "must be a string, but is an array"]],
  ],
  [
    "n in quotes",
    search({ query: "cats", n: "5" }),
    "400 invalid_request",
    "`n` must be an integer from 1 to 20, but is the string `5`; remove the quotes.",
    [["#/n", "wrong_type", "must be an integer from 1 to 20, but is the string `5`; remove the quotes"]],
  ],
  [
    "n out of range",
    search({ query: "cats", n: 50 }),
    "400 invalid_request",
    "`n` must be an integer from 1 to 20, but is 50.",
    [["#/n", "out_of_range", "must be an integer from 1 to 20, but is 50"]],
  ],
  [
    "n with decimals",
    search({ query: "cats", n: 2.5 }),
    "400 invalid_request",
    "`n` must be an integer from 1 to 20, but is 2.5.",
    [["#/n", "wrong_type", "must be an integer from 1 to 20, but is 2.5"]],
  ],
  [
    "a category in capitals",
    search({ query: "cats", category: "Research" }),
    "400 invalid_request",
    "`category` must be one of `programming`, `research`, `gov` or `business` (did you mean `research`?).",
    [
      [
        "#/category",
        "unknown_value",
        "must be one of `programming`, `research`, `gov` or `business` (did you mean `research`?)",
      ],
    ],
  ],
  [
    "a misspelt category",
    search({ query: "cats", category: "progamming" }),
    "400 invalid_request",
    "`category` must be one of `programming`, `research`, `gov` or `business` (did you mean `programming`?).",
    [
      [
        "#/category",
        "unknown_value",
        "must be one of `programming`, `research`, `gov` or `business` (did you mean `programming`?)",
      ],
    ],
  ],
  [
    "an unknown category",
    search({ query: "cats", category: "news" }),
    "400 invalid_request",
    "`category` must be one of `programming`, `research`, `gov` or `business`, but is `news`.",
    [["#/category", "unknown_value", "must be one of `programming`, `research`, `gov` or `business`, but is `news`"]],
  ],
  [
    "everything at once",
    search({ q: "cats", n: "ten", category: 5, page: 2 }),
    "400 invalid_request",
    "`query` is required; `q` is not a known field (did you mean `query`?); `n` must be an integer from 1 to 20, but is the string `ten`; `errors` lists 2 more.",
    [
      ["#/query", "required", "is required"],
      ["#/q", "unknown_field", "is not a known field (did you mean `query`?)"],
      ["#/n", "wrong_type", "must be an integer from 1 to 20, but is the string `ten`"],
      ["#/category", "wrong_type", "must be one of `programming`, `research`, `gov` or `business`, but is 5"],
      ["#/page", "unknown_field", "is not a known field; the fields are `query`, `n` and `category`"],
    ],
  ],
  [
    "a field twice",
    search('{"query":"cats","query":"dogs"}'),
    "400 invalid_request",
    "`query` appears more than once.",
    [["#/query", "duplicate_key", "appears more than once"]],
  ],
  [
    "a query that is too long",
    search({ query: "x".repeat(2_100) }),
    "400 query_too_long",
    "The query has 2100 characters, and the limit is 2048 characters. You were not charged. Shorten the query.",
    [["#/query", "too_long", "must have at most 2048 characters, but has 2100 characters"]],
  ],
  [
    "a NUL character",
    search({ query: "cats\0dogs" }),
    "400 invalid_request",
    "`query` must not contain control characters, noncharacters or lone surrogates.",
    [["#/query", "invalid_characters", "must not contain control characters, noncharacters or lone surrogates"]],
  ],
  [
    "an unknown test query",
    search({ query: "test:rate_limitd" }),
    "400 invalid_request",
    "`query` is not a known test query (did you mean `test:rate_limited`?).",
    [["#/query", "unknown_test_query", "is not a known test query (did you mean `test:rate_limited`?)"]],
  ],
];
