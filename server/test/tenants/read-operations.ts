import { resolveReferences } from "../../src/api-docs/resolve-references.ts";
import type { Schema } from "../attack/fuzz/schema-values.ts";
import type { CreateRequest } from "./tenant-requests.ts";

/** A route of openapi.json. */
export interface Operation {
  /** "GET /v1/keys/{id}" */
  name: string;
  method: string;
  path: string;
  isPublic: boolean;
  /** The scope it requires. */
  scope: string;
  inPath: string[];
  inQuery: string[];
  hasBody: boolean;
  described: Described;
}

interface Described {
  operationId: string;
  security?: unknown[];
  "x-required-scope"?: string;
  parameters?: { name: string; in: string; schema?: Schema }[];
  requestBody?: { content?: { "application/json": { schema: Schema } } };
}

export interface OpenapiDocument {
  paths: Record<string, Record<string, Described>>;
}

export function readOperations(document: OpenapiDocument): Operation[] {
  const { paths } = resolveReferences(document);
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([lowerMethod, described]) => {
      const method = lowerMethod.toUpperCase();
      const { parameters = [], security } = described;
      const named = (place: string) => parameters.filter((each) => each.in === place).map(({ name }) => name);
      return {
        name: `${method} ${path}`,
        method,
        path,
        isPublic: security?.length === 0,
        scope: described["x-required-scope"] ?? "any",
        inPath: named("path"),
        inQuery: named("query"),
        hasBody: described.requestBody !== undefined,
        described,
      };
    }),
  );
}

/** Describes missing and stale entries of the table, and what to do. */
export function findGaps(operations: readonly Operation[], table: Readonly<Record<string, CreateRequest>>): string[] {
  const closed = operations.filter(({ isPublic }) => !isPublic);
  const missing = closed.flatMap((operation) => {
    const takes = [
      ...operation.inPath.map((name) => `the path parameter "${name}"`),
      ...operation.inQuery.filter(namesResource).map((name) => `the parameter "${name}"`),
      ...(operation.hasBody ? ["a body"] : []),
    ];
    if (takes.length === 0 || table[operation.name]) return [];
    return [
      `${operation.name} takes ${takes.join(" and ")}, and is not tested with another tenant's. ` +
        `Add an entry "${operation.name}" with a valid request to server/test/tenants/tenant-requests.ts.`,
    ];
  });
  const stale = Object.keys(table).filter((name) => !closed.some((operation) => operation.name === name));
  return [...missing, ...stale.map((name) => `${name} is in tenant-requests.ts, but openapi.json has no such route.`)];
}

/** Whether a query parameter identifies a resource with an owner. Cursors are tested for every list. */
export function namesResource(parameter: string): boolean {
  return /(?:^|_)(?:id|ids)$/.test(parameter) || parameter === "key" || parameter === "wallet";
}
