import { editDistance } from "../lib/suggest.ts";
import { Problem } from "../problems/problems.ts";
import { listWords } from "./input/faults.ts";

interface KnownRoute {
  method: string;
  path: string;
}

/** For a request that matches no route: 405 if another method is allowed on the path, otherwise 404 with a suggestion. */
export function unknownPathProblem(
  routes: readonly KnownRoute[],
  { method, url }: { method: string; url: string },
  fallback?: string,
): Problem {
  const end = url.indexOf("?");
  const path = end === -1 ? url : url.slice(0, end);
  const notFound = new Problem("not_found", { ...(fallback !== undefined && { detail: fallback }) });
  if (path.length > maxPath) return notFound;
  const segments = path.split("/");
  const matching = routes.filter((route) => matchesPath(route.path, path, segments));
  const allowed = [...new Set(matching.map((route) => route.method))];
  if (allowed.length > 0) {
    return new Problem("method_not_allowed", {
      values: { method, allowed: listWords(allowed.filter((each) => each !== "HEAD")) },
      headers: { allow: allowed.join(", ") },
    });
  }
  const meant = suggestRoute(routes, method, path);
  if (!meant) return notFound;
  const detail = `Nothing exists at this path. Did you mean \`${meant.method} ${meant.path}\`?`;
  return new Problem("not_found", { detail });
}

/** Longer than any path with a route. A longer one is not compared, which bounds the work for a request that is rejected. */
const maxPath = 500;

function matchesPath(pattern: string, path: string, actual: readonly string[]): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1));
  const expected = pattern.split("/");
  return (
    expected.length === actual.length &&
    expected.every((segment, index) => (segment.startsWith(":") ? actual[index] !== "" : segment === actual[index]))
  );
}

/** Longer paths are not likely misspellings. */
const maxMisspelled = 100;
const maxEdits = 2;

/** The route with the most similar path, preferably with the same method. The console's routes are not for callers. */
function suggestRoute(routes: readonly KnownRoute[], method: string, path: string): KnownRoute | undefined {
  if (path.length > maxMisspelled) return undefined;
  // "//v1/search", "/v1/v1/search" and "/search" come from a base URL with a slash, with a version or without one.
  const segments = path.toLowerCase().split("/").filter(Boolean);
  const [first, second] = segments;
  const withoutRepetition = first === second ? segments.slice(1) : segments;
  const isVersioned = /^v\d$/.test(withoutRepetition[0] ?? "");
  const candidates = isVersioned ? [withoutRepetition] : [withoutRepetition, ["v1", ...withoutRepetition]];
  const scored = routes
    .filter((route) => !route.path.startsWith("/console") && !route.path.endsWith("*"))
    .map((route) => ({
      route,
      edits: Math.min(...candidates.map((candidate) => countEdits(route.path.split("/").slice(1), candidate))),
      otherMethod: route.method === method ? 0 : 1,
    }))
    .filter(({ edits }) => edits <= maxEdits)
    .toSorted((a, b) => a.edits - b.edits || a.otherMethod - b.otherMethod);
  return scored[0]?.route;
}

function countEdits(expected: readonly string[], actual: readonly string[]): number {
  if (expected.length !== actual.length) return Infinity;
  let edits = 0;
  for (const [index, segment] of expected.entries()) {
    const other = actual[index] ?? "";
    if (!segment.startsWith(":")) edits += editDistance(segment, other, maxEdits);
    if (edits > maxEdits) return Infinity;
  }
  return edits;
}
