import { type TSchema, Type } from "typebox";
import { limitNames } from "../problems/exceeded-limit.ts";
import { type ProblemCode, personProblems, problemCodes } from "../problems/problems.ts";

// The errors as schemas for openapi.json: one schema for each code that has additional members, and one for all others.

/** The codes that a request with an API key can get. */
export const apiProblemCodes = problemCodes.filter((code) => !Object.hasOwn(personProblems, code));

const text = (description: string) => Type.String({ description });
const usd = (description: string) =>
  Type.String({ description: `${description}, in USD as a decimal string.`, pattern: "^\\d+\\.\\d{2,6}$" });
const currency = Type.Literal("usd");

const errors = Type.Array(
  Type.Object(
    {
      pointer: text("JSON Pointer to the invalid field, such as `#/n`. `#` is the whole request."),
      code: text("What is wrong with it."),
      detail: text("The rule it violates."),
    },
    { title: "FieldError" },
  ),
  { description: "Every invalid part of the request." },
);

const exceeded = Type.Object(
  {
    limit: Type.Enum([...limitNames]),
    applies_to: text("The first word of `limit`: the key, the wallet, your network or the server."),
    max: Type.Integer({ description: "The value of the limit." }),
    window_seconds: Type.Optional(
      Type.Integer({ description: "The period of a rate. Absent for a number of requests in flight." }),
    ),
    retry_after_seconds: Type.Integer(),
  },
  { title: "ExceededLimit", description: "The limit that was exceeded." },
);

const topUp = Type.Object(
  {
    url: Type.String({ format: "uri", description: "Where the wallet's owner adds money." }),
    minimum: usd("The smallest amount that pays the debt and one search"),
    instructions: text("How to add money."),
    create: Type.Optional(
      Type.Object(
        {
          method: Type.Literal("POST"),
          url: Type.String({ format: "uri" }),
          required_scope: Type.Literal("wallet:write"),
          body: Type.Object({ amount: usd("The amount to top up") }),
        },
        { description: "The request that creates a top-up, if payments are configured." },
      ),
    ),
  },
  { title: "TopUpOptions" },
);

const budgetMembers = {
  limit: usd("The budget"),
  spent: usd("The amount spent, including searches in flight"),
  currency: Type.Optional(currency),
  resets_at: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
    description: "When the budget resets. Null if it does not.",
  }),
};

const spentBudget = Type.Object(
  {
    id: Type.Union([Type.String({ format: "uuid" }), Type.Null()], {
      description: "Null for a limit of the key itself.",
    }),
    name: Type.Union([Type.String(), Type.Null()]),
    period: Type.Enum(["total", "day", "week", "month"]),
  },
  { title: "SpentBudget", description: "The budget that is spent." },
);

const increase = Type.Object(
  {
    url: Type.String({ format: "uri", description: "The page of the console where a person can raise the budget." }),
    request: Type.Optional(
      Type.Object(
        {
          method: Type.Literal("POST"),
          url: Type.String({ format: "uri" }),
          required_scope: Type.Literal("budgets:request"),
          body: Type.Object({
            budget: Type.String({ format: "uuid" }),
            amount: usd("The amount to add, which you choose"),
            hours: Type.Integer(),
          }),
        },
        { description: "The request that asks a person to raise the budget, if it is a shared budget." },
      ),
    ),
  },
  { title: "IncreaseOptions", description: "How to get a higher budget." },
);

const upstreamStatus = Type.Optional(Type.Integer({ description: "The status that the search provider returned." }));

/** The members of each code, in addition to those of every problem. */
export const problemMembers: Partial<Record<ProblemCode, Record<string, TSchema>>> = {
  malformed_json: { errors },
  invalid_request: { errors },
  conflicting_credentials: { errors },
  query_too_long: {
    characters: Type.Integer({ description: "The length of the query." }),
    words: Type.Optional(Type.Integer({ description: "Present if `max_words` is." })),
    max_characters: Type.Integer({ description: "The longest query accepted." }),
    max_words: Type.Optional(Type.Integer({ description: "Present if an upstream limits the number of words." })),
    errors,
  },
  insufficient_balance: {
    balance: usd("The wallet balance"),
    price: usd("The price of a search"),
    currency,
    owed: usd("Debt left by refunded or disputed payments"),
    top_up: topUp,
  },
  balance_reserved: { balance: usd("The wallet balance"), price: usd("The price of a search"), currency },
  insufficient_scope: { required_scope: text("The scope that the request needs.") },
  key_budget_spent: { ...budgetMembers, budget: spentBudget, increase },
  run_budget_spent: budgetMembers,
  end_user_budget_spent: { ...budgetMembers, budget: spentBudget, increase },
  budget_in_use: {
    keys: Type.Array(Type.Object({ id: Type.String({ format: "uuid" }), name: text("The name of the key.") }), {
      description: "Up to 100 keys that name the budget.",
    }),
  },
  payload_too_large: { max_bytes: Type.Integer({ description: "The limit of the request body." }) },
  rate_limited: { exceeded },
  concurrency_limited: { exceeded },
  unpaid_calls_limited: { exceeded },
  overloaded: { exceeded },
  upstream_timeout: {
    deadline_set_by: Type.Enum(["caller", "server"], {
      description: "`caller` if the number of seconds in `Prefer: wait=N` passed first.",
    }),
  },
  upstream_error: { upstream_status: upstreamStatus },
  upstream_invalid_response: { upstream_status: upstreamStatus },
};

const baseSchema = Type.Object(
  {
    type: Type.String({ format: "uri", description: "URL of the page that explains this code." }),
    title: Type.String(),
    status: Type.Integer({ description: "The HTTP status of the response." }),
    detail: text("What happened, whether you were charged, and what to do next."),
    instance: text("The path of the request."),
    code: Type.Enum([...apiProblemCodes], {
      title: "ProblemCode",
      description: "Identifies the error. Codes never change, but later versions can add codes.",
    }),
    request_id: Type.String({ format: "uuid" }),
    retryable: Type.Boolean({ description: "Whether the same request can succeed later." }),
    charged: Type.Literal(false),
  },
  { title: "ProblemBase", description: "The members of every problem." },
);

export const problemSchema = Type.Union(
  [
    ...Object.entries(problemMembers).map(([code, members]) =>
      Type.Intersect([baseSchema, Type.Object({ code: Type.Literal(code), ...members })], {
        title: `${toPascalCase(code)}Problem`,
      }),
    ),
    Type.Intersect(
      [baseSchema, Type.Object({ code: Type.Enum(apiProblemCodes.filter((code) => !problemMembers[code])) })],
      { title: "BasicProblem", description: "A problem without additional members." },
    ),
  ],
  {
    title: "Problem",
    description: "RFC 9457 problem details. `code` determines the other members. Errors are never charged.",
  },
);

export function toPascalCase(name: string): string {
  return name.replaceAll(/(?:^|[^a-z]+)([a-z])/gi, (_, letter: string) => letter.toUpperCase());
}
