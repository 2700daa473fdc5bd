import assert from "node:assert/strict";
import { test } from "node:test";
import { unknownPathProblem } from "./unknown-path.ts";

const paths = ["/v1/keys", "/v1/keys/:id", "/docs/*"];

/** Counts how often a route is compared with a path. */
function countedRoutes(): { routes: { method: string; path: string }[]; compared: () => number } {
  let compared = 0;
  const routes = paths.map((path) => ({
    method: "GET",
    get path() {
      compared += 1;
      return path;
    },
  }));
  return { routes, compared: () => compared };
}

test("a path longer than 500 characters gets a plain 404 without a comparison with the routes", () => {
  for (const url of [`/${"a/".repeat(250)}`, `/v1/keys/${"a".repeat(500)}`, `/docs/${"a".repeat(16_000)}`]) {
    const { routes, compared } = countedRoutes();
    const problem = unknownPathProblem(routes, { method: "POST", url });
    assert.deepEqual([problem.code, compared()], ["not_found", 0], url.slice(0, 20));
    assert.doesNotMatch(problem.detail, /Did you mean/);
  }
});

test("a shorter path gets 405 if another method is allowed, and otherwise the route that was probably meant", () => {
  const { routes } = countedRoutes();
  const problemFor = (url: string) => unknownPathProblem(routes, { method: "POST", url });
  assert.equal(problemFor(`/v1/keys/${"a".repeat(400)}`).code, "method_not_allowed");
  assert.equal(problemFor(`/docs/${"a".repeat(400)}?${"b".repeat(500)}`).code, "method_not_allowed");
  assert.match(problemFor("/v1/kesy").detail, /Did you mean `GET \/v1\/keys`\?/);
  assert.equal(problemFor("/v1/keys/").code, "not_found");
});
