import { Type } from "typebox";
import type { Route } from "../http/route.ts";
import { type ProblemCode, personProblems, problemCodes } from "../problems/problems.ts";
import { searchRequestSchema } from "./parse-search.ts";
import type { SearchRunner } from "./run-search.ts";

const resultSchema = Type.Object(
  {
    title: Type.String({ description: "Title of the page. Plain text, at most 300 characters." }),
    url: Type.String({
      description: "URL of the page, http or https, at most 2,048 characters. Results with a longer URL are dropped.",
      format: "uri",
      maxLength: 2_048,
    }),
    snippet: Type.String({
      description: "Excerpt of the page. Plain text, at most 1,000 characters. Untrusted text from the web.",
    }),
    source: Type.String({ description: "Hostname of the URL, without a leading `www.`." }),
  },
  { title: "SearchResult" },
);

const searchAnswerSchema = Type.Object(
  {
    query: Type.String({ description: "The query that was run." }),
    n: Type.Integer({ minimum: 0, maximum: 20, description: "Number of results returned." }),
    results: Type.Array(resultSchema, { maxItems: 20 }),
  },
  { title: "SearchResponse" },
);

/** Problems that a search never returns. Those of people are excluded as well. */
const otherProblems: ProblemCode[] = [
  "not_found",
  "method_not_allowed",
  "budget_requests_open",
  "key_limit_reached",
  "key_not_active",
  "budget_in_use",
  "budget_limit_reached",
  "payments_not_configured",
  "payment_processor_unavailable",
  "receipts_not_configured",
];
const searchProblems = problemCodes.filter(
  (code: ProblemCode) => !otherProblems.includes(code) && !Object.hasOwn(personProblems, code),
);

export function searchRoutes(runner: SearchRunner): Route[] {
  return [
    {
      method: "POST",
      path: "/v1/search",
      isSearch: true,
      scope: "search",
      operationId: "createSearch",
      tag: "Search",
      summary: "Search the web",
      description:
        "Runs one search. Costs 0.01 USD if the response is 200, and nothing otherwise. A failed search is never returned as an empty result.",
      requestHeaders: {
        "Idempotency-Key":
          "1 to 255 printable ASCII characters. For 24 hours, a retry with the same key and body is not charged again. Use a random key, such as a UUID.",
        Prefer:
          "`wait=2` (RFC 7240): time out after this many seconds, 1 to 9, with a 504 and no charge. Other preferences and values are ignored, as the RFC requires; `Preference-Applied` in the response confirms yours.",
        "Rank-Explain":
          "`1` or `true` to get the reason for each result's rank in the response header of the same name. Default: `0`.",
        "Rank-Registries":
          "`0` or `false` to rank by the hand-written rules only, without published lists of domains. Default: `1`.",
        "Search-For":
          "1 to 64 letters, digits or any of `_.:@/+=|-`: your ID for the end user on whose behalf you search. Usage can be grouped by it. Required if the key has an `end_user_limit` or names a budget per end user. Stored as a hash unless you choose otherwise. Do not send names or email addresses.",
        "Search-Run":
          "`<id>; max=0.50; ttl=3600`: a budget in USD, at least 0.01, shared by all searches with the same id.",
      },
      requestBody: searchRequestSchema,
      answer: searchAnswerSchema,
      answerHeaders: [
        "Wallet-Balance",
        "Search-Run",
        "Key-Budget",
        "End-User-Budget",
        "Server-Timing",
        "Search-Upstreams",
        "Search-Filtered",
        "Rank-Lens",
        "Rank-Explain",
        "Preference-Applied",
        "Idempotent-Replayed",
      ],
      problems: searchProblems,
      onRejected: runner.recordRejected,
      async handle(request, reply) {
        const { body } = await runner.run({ request, reply, transport: "http" });
        reply.header("content-type", "application/json; charset=utf-8");
        return body;
      },
    },
  ];
}
