import assert from "node:assert/strict";
import type { TestServer } from "./services/server.ts";

/** The routes that Fastify serves, such as "POST /v1/search", with parameters written as in OpenAPI. */
export function registeredRoutes(server: { app: { http: Pick<TestServer["app"]["http"], "printRoutes"> } }): string[] {
  const tree = server.app.http.printRoutes({ commonPrefix: false });
  const found: string[] = [];
  const path: string[] = [];
  for (const line of tree.trimEnd().split("\n")) {
    const match = /^([│ ]*)(?:├── |└── )(\S*)(?: \(([A-Z, ]+)\))?$/.exec(line);
    assert.ok(match, `cannot parse: ${line}`);
    const depth = (match[1]?.length ?? 0) / 4;
    path.length = depth;
    path.push(match[2] ?? "");
    const methods = match[3]?.split(", ") ?? [];
    // Every HEAD repeats a GET.
    for (const method of methods.filter((each) => each !== "HEAD"))
      found.push(`${method} ${path.join("").replaceAll(/:(\w+)/g, "{$1}")}`);
  }
  return found.toSorted();
}
