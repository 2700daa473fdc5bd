import { type ProblemCode, problemRow } from "../problems.ts";
import type { Route } from "./route.ts";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of a list of routes. Made from what the server runs, so it cannot promise anything else. */
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
      summary: "Prepaid web search: one cent a search, charged only when it works.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: about.serverUrl }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key: `Authorization: Bearer pb_live_...`" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
      },
      headers: answerHeaders,
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
    schema: { type: "string" },
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
    schema: { type: "string" },
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
  const { title, status, detail, retryable, members } = problemRow(code);
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

const answerHeaders: Record<string, Json> = {
  "Request-Id": { description: "Names this request, its hold and its charge.", schema: { ...text, format: "uuid" } },
  "Wallet-Charge": { description: "What this answer cost: `0.01;currency=usd`, or 0.00.", schema: text },
  "Wallet-Balance": { description: "The balance after it, for keys with the scope wallet:read.", schema: text },
  "RateLimit-Policy": { description: 'The key\'s limit: `"key";q=1000;w=1`.', schema: text },
  RateLimit: { description: 'What is left of it: `"key";r=997;t=1`.', schema: text },
  "Server-Timing": { description: "How long auth, hold, upstream and capture took.", schema: text },
  "Search-Upstreams": { description: "How many upstreams were asked.", schema: text },
  "Rank-Lens": { description: "The rules it was ranked by, `name@version`; they are under /v1/lenses.", schema: text },
  "Rank-Explain": {
    description:
      "On request: for each result its place at the upstream, its tier, the reason and its score. 4 kB at most.",
    schema: text,
  },
  "Preference-Applied": { description: "`wait=2` when that preference set the deadline.", schema: text },
  "Idempotent-Replayed": { description: "`true` when this answer was paid for before.", schema: text },
};

const problemSchema: Json = {
  type: "object",
  description: "RFC 9457 problem details. An error never charges anything.",
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
  },
  additionalProperties: true,
};
