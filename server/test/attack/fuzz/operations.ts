import { readFileSync } from "node:fs";
import { fleetRoutes } from "../../../src/cells/fleet-routes.ts";
import type { Queryable } from "../../../src/db/pool.ts";
import type { Parameter } from "../../../src/dialects/dialect.ts";
import { dialects } from "../../../src/dialects/dialects.ts";
import { type OperatorDependencies, operatorRoutes } from "../../../src/operator/operator-routes.ts";
import { type WatchDependencies, watchRoutes } from "../../../src/operator/watch-routes.ts";
import { statusCountsRoute } from "../../../src/status/status.ts";
import { type OpenapiDocument, readOperations as readApiOperations } from "../../tenants/read-operations.ts";
import { consoleOperations } from "./console-operations.ts";
import { createOperation, type FuzzOperation } from "./fuzz-operation.ts";
import type { Schema } from "./schema-values.ts";

/** Every route of both listeners: openapi.json, the compatibility endpoints, the console, operators and health. */
export function readOperations(): FuzzOperation[] {
  const documented = publicOperations();
  const console = consoleOperations(documented);
  const internal = [...operatorOperations(), ...operatorViews(console), ...operatorSession, ...health];
  return [...documented, ...compatOperations(), ...console, ...internal];
}

function publicOperations(): FuzzOperation[] {
  const file = new URL("../../../../openapi.json", import.meta.url);
  const operations = readApiOperations(JSON.parse(readFileSync(file, "utf8")) as OpenapiDocument);
  return operations.map(({ method, path, isPublic, scope, described: { parameters = [], requestBody } }) => {
    const inQuery = parameters.filter((each) => each.in === "query");
    const hasKey = parameters.some(({ name }) => name === "Idempotency-Key");
    const needsKey = path === "/v1/search" ? "optional" : "required";
    const neededKey = scope === "search" ? "search" : "mgmt";
    return createOperation(method, path, {
      credential: isPublic ? undefined : neededKey,
      query: Object.fromEntries(inQuery.map(({ name, schema = {} }) => [name, schema])),
      idempotency: hasKey ? needsKey : "none",
      body: requestBody?.content?.["application/json"].schema,
      weight: weightOf(path),
    });
  });
}

/** With the parameters that a search can have. Mutated inputs have others. */
function compatOperations(): FuzzOperation[] {
  return dialects.map(({ name, method, path, parameters }) => {
    const accepted = Object.entries(parameters).filter(([, { use }]) =>
      /^(?:query|count|category|required)$/.test(use),
    );
    const properties = Object.fromEntries(accepted.map(([each, rule]) => [each, schemaOf(rule)]));
    const required = accepted.filter(([, { use }]) => use === "query").map(([each]) => each);
    return createOperation(method, `/compat/${name}${path}`, {
      credential: "search",
      query: method === "GET" ? properties : {},
      idempotency: "optional",
      body: method === "POST" ? { type: "object", required, properties } : undefined,
      weight: 10,
    });
  });
}

function schemaOf(rule: Parameter): Schema {
  if (rule.use === "count") return { type: "integer", minimum: 1, maximum: 100 };
  if (rule.use === "category") return { enum: Object.keys(rule.values) };
  if (rule.use === "required") return { enum: [rule.value] };
  return { type: "string", minLength: 1, maxLength: 60 };
}

/** Searches cost money, so they are most frequent; public documents are large and constant. */
function weightOf(path: string): number {
  if (path === "/v1/search") return 150;
  return path.startsWith("/v1/") ? 10 : 2;
}

const reason: Schema = { type: "string", minLength: 1, maxLength: 500 };
const reasonBody: Schema = { type: "object", required: ["reason"], properties: { reason } };
const creditBody: Schema = {
  type: "object",
  required: ["amount", "kind", "reference", "reason"],
  properties: {
    amount: { type: "string" },
    kind: { enum: ["promotion", "invoice"] },
    reference: { type: "string", minLength: 1, maxLength: 200, pattern: "^[\\x21-\\x7e]+$" },
    reason,
  },
};
const text: Schema = { type: "string" };
const limit: Schema = { type: "integer", minimum: 1, maximum: 200 };
const operatorQueries: Record<string, Record<string, Schema>> = {
  accounts: { email: text, limit },
  wallets: { name: text, cursor: text, limit },
  find: { text, from: text, to: text, outcome: text },
  margin: { from: text, to: text },
  audit: { wallet: text, cursor: text, limit },
};

function operatorOperations(): FuzzOperation[] {
  const routes = [
    ...watchRoutes({} as WatchDependencies),
    ...operatorRoutes({} as OperatorDependencies),
    statusCountsRoute({} as Queryable),
    ...fleetRoutes([]),
  ];
  return routes.map(({ method, path }) => {
    const requestBody = path.endsWith("/credit") ? creditBody : reasonBody;
    return createOperation(method, `/operator/${path.replace(/:(\w+)/g, "{$1}")}`, {
      listener: "internal",
      credential: "operator",
      query: operatorQueries[path] ?? {},
      body: method === "POST" ? requestBody : undefined,
    });
  });
}

/** The pages of an owner, which operators see as well, and the wallet itself. */
function operatorViews(console: readonly FuzzOperation[]): FuzzOperation[] {
  const wallet = createOperation("GET", "/console/api/wallets/{walletId}", {});
  return [wallet, ...console.filter(({ method, credential }) => method === "GET" && credential === "session")].map(
    (operation) => ({ ...operation, listener: "internal", credential: "operator", weight: 2 }),
  );
}

const tokenBody: Schema = { type: "object", required: ["token"], properties: { token: { const: "{{operator}}" } } };
const operatorSession = ["GET", "POST", "DELETE"].map((method) =>
  createOperation(method, "/operator/session", {
    listener: "internal",
    credential: "operator",
    body: method === "POST" ? tokenBody : undefined,
    weight: 2,
  }),
);

const health = ["/livez", "/readyz", "/metrics"].map((path) =>
  createOperation("GET", path, { listener: "internal", weight: 1 }),
);
