import { STATUS_CODES } from "node:http";
import type { TSchema } from "typebox";
import { type ResponseHeader, responseHeaders } from "../http/response-headers.ts";
import type { Route } from "../http/route.ts";
import { tags } from "../http/tags.ts";
import { exampleProblem, type ProblemCode, problemRow } from "../problems/problems.ts";
import { type Components, createComponents, type Json } from "./components.ts";
import { problemSchema, toPascalCase } from "./problem-schema.ts";

/** Generates the OpenAPI 3.1 document from the routes the server runs. */
export function describeRoutes(routes: readonly Route[], about: { version: string; serverUrl: string }): Json {
  const components = createComponents();
  const describeProblems = createProblemDescriber(routes, components);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    const operation = describeOperation(route, components, describeProblems(route));
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Pennyblack",
      version: about.version,
      summary: "Prepaid web search: one cent per search, charged only if it succeeds.",
      description:
        "Send your API key as `Authorization: Bearer <API_KEY>` or as `x-api-key`. Request and response bodies are JSON. Amounts are decimal strings in USD, and times are ISO 8601 in UTC.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: about.serverUrl, description: "The base URL of your Pennyblack server." }],
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key: `Authorization: Bearer pb_live_...`" },
        apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "An API key, without `Bearer`." },
      },
      ...components.collected,
    },
  };
}

function describeOperation(route: Route, components: Components, problems: Json): Json {
  const { operationId, tag, summary, description, scope, requestBody, answerStatus = 200 } = route;
  const parameters = describeParameters(route, components);
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...(scope === undefined && { security: [] }),
    ...(scope !== undefined && scope !== "any" && { "x-required-scope": scope }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: components.describeSchema(requestBody) } },
      },
    }),
    responses: { [answerStatus]: describeAnswer(route, components), ...problems },
  };
}

/** The parameters after each path segment, which are the same in all routes. */
const pathParameters: Record<string, { component: string; description: string; schema: Json }> = {
  keys: { component: "KeyId", description: "The id of a key.", schema: { type: "string", format: "uuid" } },
  budgets: {
    component: "BudgetId",
    description: "The id of a shared budget.",
    schema: { type: "string", format: "uuid" },
  },
  searches: {
    component: "SearchId",
    description: "The `Request-Id` of a search.",
    schema: { type: "string", format: "uuid" },
  },
  "top-ups": { component: "TopUpId", description: "The id of a top-up.", schema: { type: "string", format: "uuid" } },
  webhooks: {
    component: "WebhookId",
    description: "The id of a webhook endpoint.",
    schema: { type: "string", format: "uuid" },
  },
  deliveries: {
    component: "DeliveryId",
    description: "The id of a delivery.",
    schema: { type: "string", format: "uuid" },
  },
  lenses: { component: "LensName", description: "The name of a lens, such as `base`.", schema: { type: "string" } },
  problems: { component: "ProblemCode", description: "A problem code.", schema: { type: "string" } },
};

function describeParameters(route: Route, components: Components): Json[] {
  const { requestHeaders = {}, requiredHeaders = {}, query = {} } = route;
  const inPath = [...route.path.matchAll(/([\w-]+)\/:(\w+)/g)].map(([, segment = "", name]) => {
    const known = pathParameters[segment];
    if (!known) throw new Error(`${route.path}: describe the parameter ${name} in pathParameters`);
    const { component, ...parameter } = known;
    return components.add("parameters", component, { name, in: "path", required: true, ...parameter });
  });
  const inQuery = Object.entries(query).map(([name, schema]) => describeQueryParameter(name, schema, components));
  const inHeader = [
    ...Object.entries(requiredHeaders).map(([name, description]) => ({
      name,
      in: "header",
      required: true,
      description,
    })),
    ...Object.entries(requestHeaders).map(([name, description]) => ({
      name,
      in: "header",
      required: false,
      description,
    })),
  ].map((header) => ({ ...header, schema: { type: "string" } }));
  return [...inPath, ...inQuery, ...inHeader];
}

/** A query parameter whose schema has a title is shared under that name. */
function describeQueryParameter(name: string, schema: TSchema, components: Components): Json {
  const { title, description, examples, ...unnamed }: Json = { ...schema };
  const parameter = {
    name,
    in: "query",
    required: false,
    ...(description !== undefined && { description }),
    schema: components.describeSchema(unnamed),
    ...(Array.isArray(examples) && { example: examples[0] as unknown }),
  };
  return typeof title === "string" ? components.add("parameters", title, parameter) : parameter;
}

function describeAnswer(route: Route, components: Components): Json {
  const { answer, answerStatus = 200, answerHeaders = [], scope } = route;
  const content =
    typeof answer === "string"
      ? { [answer]: { schema: { type: "string" } } }
      : { "application/json": { schema: components.describeSchema(answer) } };
  const names: ResponseHeader[] = ["Request-Id", "Wallet-Charge"];
  if (scope !== undefined) names.push("RateLimit-Policy", "RateLimit");
  return {
    description: answerStatus === 201 ? "Created." : "Success.",
    headers: describeHeaders([...names, ...answerHeaders], components),
    content,
  };
}

function describeHeaders(names: readonly ResponseHeader[], components: Components): Json {
  const describe = (name: ResponseHeader): Json => ({
    description: responseHeaders[name],
    schema: name === "Retry-After" ? { type: "integer" } : { type: "string" },
  });
  return Object.fromEntries(names.map((name) => [name, components.add("headers", name, describe(name))]));
}

/** The problems of a route that have the same status. */
interface ProblemGroup {
  status: string;
  codes: readonly ProblemCode[];
  /** The same for groups with the same codes. */
  id: string;
}

/**
 * Returns a function that describes the error responses of a route: one per status, with an example for each code. A
 * response of several routes is shared. The most common one of a status has the name of the status; others are named
 * after the codes in which they differ from it.
 */
function createProblemDescriber(routes: readonly Route[], components: Components): (route: Route) => Json {
  const groups = routes.flatMap(({ problems }) => groupByStatus(problems));
  const uses = new Map<string, number>();
  for (const { id } of groups) uses.set(id, (uses.get(id) ?? 0) + 1);
  const commonGroups = new Map<string, ProblemGroup>();
  for (const group of groups) {
    const current = commonGroups.get(group.status);
    if (!current || (uses.get(group.id) ?? 0) > (uses.get(current.id) ?? 0)) commonGroups.set(group.status, group);
  }
  const described = new Map<string, Json>();

  function describe({ status, codes, id }: ProblemGroup): Json {
    const response = describeProblemResponse(codes, components);
    if (uses.get(id) === 1) return response;
    const common = commonGroups.get(status);
    const differing = codes.filter((code) => !common?.codes.includes(code));
    const distinctive = differing.length > 0 ? differing : codes;
    // Another group may add the same codes to all of the common ones.
    const isPartial = differing.length > 0 && common?.codes.some((code) => !codes.includes(code)) === true;
    const difference = `${isPartial ? "only " : ""}${distinctive.join(" or ")}`;
    const name = id === common?.id ? (STATUS_CODES[status] ?? status) : difference;
    return components.add("responses", toPascalCase(name), response);
  }

  return ({ problems }) => {
    const entries = groupByStatus(problems).map((group): [string, Json] => {
      const response = described.get(group.id) ?? describe(group);
      described.set(group.id, response);
      return [group.status, response];
    });
    return Object.fromEntries(entries);
  };
}

function groupByStatus(problems: readonly ProblemCode[]): ProblemGroup[] {
  const groups = Object.groupBy(problems.toSorted(), (code) => problemRow(code).status);
  return Object.entries(groups).map(([status, codes = []]) => ({ status, codes, id: codes.join() }));
}

function describeProblemResponse(codes: readonly ProblemCode[], components: Components): Json {
  const names: ResponseHeader[] = ["Request-Id", "Wallet-Charge"];
  if (codes.some((code) => problemRow(code).retryAfterSeconds !== undefined)) names.push("Retry-After");
  const examples = codes.map((code) => {
    const example = { summary: problemRow(code).title, value: exampleOf(code) };
    return [code, components.add("examples", code, example)] as const;
  });
  return {
    description: codes.map((code) => `\`${code}\`: ${problemRow(code).title}.`).join(" "),
    headers: describeHeaders(names, components),
    content: {
      "application/problem+json": {
        schema: components.describeSchema(problemSchema),
        examples: Object.fromEntries(examples),
      },
    },
  };
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
