import { limitNames } from "../problems/exceeded-limit.ts";
import { exampleProblem, type ProblemCode, problemRow } from "../problems/problems.ts";
import type { Route } from "./route.ts";

type Json = Record<string, unknown>;

/** Generates the OpenAPI 3.1 document from the routes the server runs. */
export function describeRoutes(routes: readonly Route[], about: { version: string; serverUrl: string }): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Pennyblack",
      version: about.version,
      summary: "Prepaid web search: one cent per search, charged only if it succeeds.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: about.serverUrl }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key: `Authorization: Bearer pb_live_...`" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      headers: Object.fromEntries(Object.entries(answerHeaders).map(describeHeader)),
      schemas: { Problem: problemSchema },
    },
  };
}

function describeOperation(route: Route): Json {
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: route.description,
    ...(route.scope && { security: [{ bearer: [] }, { apiKey: [] }] }),
    ...(route.scope && route.scope !== "any" && { "x-required-scope": route.scope }),
    parameters: describeParameters(route),
    ...(route.requestBody && {
      requestBody: { required: true, content: { "application/json": { schema: route.requestBody } } },
    }),
    responses: { [route.answerStatus ?? 200]: describeAnswer(route), ...describeProblems(route.problems) },
  };
}

function operationId(route: Route): string {
  const words = route.path.split(/[^a-z0-9]+/i).filter((word) => word !== "" && word !== "v1");
  return [route.method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join("");
}

function describeParameters(route: Route): Json[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: text,
  }));
  const inQuery = Object.entries(route.query ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema,
  }));
  const inHeader = Object.entries(route.requestHeaders ?? {}).map(([name, description]) => ({
    name,
    in: "header",
    required: false,
    description,
    schema: text,
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function describeAnswer({ answer }: Route): Json {
  const content = typeof answer === "string" ? { [answer]: {} } : { "application/json": { schema: answer } };
  const headers = Object.fromEntries(
    Object.keys(answerHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
  return { description: "Success.", headers, content };
}

function describeHeader([name, description]: [string, string]): [string, Json] {
  return [name, { description, schema: name === "Request-Id" ? { ...text, format: "uuid" } : text }];
}

/** One response per status, with an example for each code that uses it. */
function describeProblems(codes: readonly ProblemCode[]): Json {
  const byStatus = Object.groupBy(codes, (code) => problemRow(code).status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, sharing = []]) => [
      status,
      {
        description: sharing.map((code) => `\`${code}\`: ${problemRow(code).title}.`).join(" "),
        content: {
          "application/problem+json": {
            schema: { $ref: "#/components/schemas/Problem" },
            examples: Object.fromEntries(sharing.map((code) => [code, { value: exampleOf(code) }])),
          },
        },
      },
    ]),
  );
}

export function exampleOf(code: ProblemCode): Json {
  const { title, status, detail, retryable, members } = exampleProblem(code);
  return {
    type: `https://pennyblack.example/problems/${code}`,
    title,
    status,
    detail,
    instance: "/v1/search",
    code,
    request_id: "01a1dca0-9422-7d2b-aced-0d68680215be",
    retryable,
    charged: false,
    ...members,
  };
}

const text = { type: "string" };

const answerHeaders: Record<string, string> = {
  "Request-Id": "Identifies this request, its hold and its charge.",
  "Wallet-Charge": "The amount charged for this request: `0.01;currency=usd` or `0.00;currency=usd`.",
  "Wallet-Balance": "The wallet balance after this request. Only for keys with the `wallet:read` scope.",
  "RateLimit-Policy":
    'The rate limit with the fewest requests left: `"key";q=1000;w=1` is 1,000 requests per second for the key. Other names are `wallet` and `test`, the test keys of a wallet.',
  RateLimit: 'The remaining requests and the seconds until reset: `"key";r=997;t=1`.',
  "Server-Timing": "Duration of the steps auth, hold, upstream and capture, in milliseconds.",
  "Search-Upstreams": "Number of upstreams queried.",
  "Rank-Lens": "The lens that ranked the results, as `name@version`. See `/v1/lenses`.",
  "Rank-Explain": "If requested: each result's position at the upstream, tier, reason and score. At most 4 kB.",
  "Preference-Applied": "`wait=2` if the `Prefer` header set the timeout.",
  "Idempotent-Replayed": "`true` if this is the stored answer of an earlier request. It is not charged again.",
};

const problemSchema: Json = {
  type: "object",
  description: "RFC 9457 problem details. Errors are never charged.",
  required: ["type", "title", "status", "detail", "instance", "code", "request_id", "retryable", "charged"],
  properties: {
    type: { ...text, format: "uri" },
    title: text,
    status: { type: "integer" },
    detail: text,
    instance: text,
    code: text,
    request_id: { ...text, format: "uuid" },
    retryable: { type: "boolean", description: "Whether the same request can succeed later." },
    charged: { const: false },
    errors: {
      type: "array",
      items: {
        type: "object",
        properties: { pointer: text, code: text, detail: text },
        required: ["pointer", "code", "detail"],
      },
    },
    exceeded: {
      type: "object",
      description: "The limit that a 429 or a 503 `overloaded` is about.",
      properties: {
        limit: { enum: limitNames },
        applies_to: {
          ...text,
          description: "The first word of `limit`: the key, the wallet, your network or the server.",
        },
        max: { type: "integer", description: "The value of the limit." },
        window_seconds: {
          type: "integer",
          description: "The period of a rate. Absent for a number of requests in flight.",
        },
        retry_after_seconds: { type: "integer" },
      },
      required: ["limit", "applies_to", "max", "retry_after_seconds"],
    },
  },
  additionalProperties: true,
};
