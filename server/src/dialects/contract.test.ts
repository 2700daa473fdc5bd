// The contract of every dialect. A new dialect in the list is tested automatically. Each has fixtures: requests that its
// clients send (`request-*.json`) and the response to a search with two results (`response.json`). In requests, `{key}` is the
// API key. server/test/stories/integrations.test.ts sends them to a server.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fc } from "../../test/support/data/fast-check.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";
import { deriveHeaders, readIgnore } from "./derive-headers.ts";
import { type Answer, type Dialect, type DomainList, groups, type Parameter } from "./dialect.ts";
import { dialects, findProblemShape } from "./dialects.ts";
import { withApiKey } from "./read-key.ts";
import { toSearch } from "./to-search.ts";

const key = "pb_test_key";
const answer: Answer = {
  query: "cats",
  n: 2,
  results: [
    { title: "Cats", url: "https://www.example.com/cats", snippet: "All about cats.", source: "example.com" },
    { title: "", url: "https://example.org/", snippet: "", source: "example.org" },
  ],
};
const about = { requestId: "0198c0de-0000-7000-8000-000000000000", seconds: 0.25 };
const problem = {
  status: 402,
  title: "Insufficient balance",
  detail: "The wallet balance (0.00 USD) is below the price of a search (0.01 USD). You were not charged.",
  code: "insufficient_balance",
  request_id: about.requestId,
};

interface RequestFixture {
  /** The program that sends this request. */
  client: string;
  source: string;
  parameters: Record<string, unknown>;
  search: unknown;
  ignored: string[];
}

function readFixture(dialect: Dialect, file: string): unknown {
  const text = readFileSync(new URL(`fixtures/${dialect.name}/${file}`, import.meta.url), "utf8");
  return JSON.parse(text.replaceAll("{key}", key));
}

function translate(dialect: Dialect, parameters: unknown, ...ignore: string[]) {
  return toSearch(dialect, parameters, { ignore: new Set(ignore), key, maxOnly: 2 });
}

function problemOf(work: () => unknown): Problem {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "not rejected" });
}

/** Of each kind of list, entries and the policy that follows from them. */
const domainLists: Record<DomainList, [string[], SourcePolicy]> = {
  only: [
    ["Example.com", "bücher.example", "example.com."],
    { block: [], only: ["example.com", "xn--bcher-kva.example"] },
  ],
  block: [["Example.com", "bücher.example"], { block: ["example.com", "xn--bcher-kva.example"] }],
  either: [["example.com", "-Docs.example.com"], { block: ["docs.example.com"], only: ["example.com"] }],
};

/** A request with only the query and the fields that the API requires. */
function minimal({ parameters }: Dialect): Record<string, unknown> {
  const required = Object.entries(parameters).flatMap(([name, parameter]) => {
    if (parameter.use === "query") return [[name, "cats"]];
    return parameter.use === "required" ? [[name, parameter.value]] : [];
  });
  return Object.fromEntries(required) as Record<string, unknown>;
}

function namesOf({ parameters }: Dialect, use: Parameter["use"]): string[] {
  return Object.keys(parameters).filter((name) => parameters[name]?.use === use);
}

test("names and paths are unique, and every dialect has a request and a response as fixtures", () => {
  assert.equal(new Set(dialects.map(({ name }) => name)).size, dialects.length);
  for (const dialect of dialects) {
    assert.match(dialect.name, /^[a-z-]+$/);
    assert.match(dialect.path, /^(?:\/[a-z0-9]+)*$/);
    assert.match(dialect.documentation, /^https:\/\//);
    assert.ok(dialect.defaultCount >= 1 && dialect.defaultCount <= 20);
    assert.equal(namesOf(dialect, "query").length, 1);
    assert.match(dialect.keyHeader ?? "x", /^[a-z-]+$/);
    const files = readdirSync(new URL(`fixtures/${dialect.name}/`, import.meta.url));
    assert.ok(files.includes("response.json") && files.some((file) => file.startsWith("request-")), dialect.name);
  }
});

for (const dialect of dialects) {
  const { name, method, parameters } = dialect;
  const [count = ""] = namesOf(dialect, "count");

  test(`${name}: what its clients send by default is accepted, and ignored parameters are listed`, () => {
    const files = readdirSync(new URL(`fixtures/${name}/`, import.meta.url)).filter((file) =>
      file.startsWith("request-"),
    );
    for (const file of files) {
      const fixture = readFixture(dialect, file) as RequestFixture;
      assert.match(fixture.source, /^https:\/\/\S+$/, `${file} has no link to the client`);
      const { search, ignored, capped } = translate(dialect, fixture.parameters);
      assert.deepEqual({ search, ignored }, { search: fixture.search, ignored: fixture.ignored }, file);
      assert.equal(capped, undefined);
    }
  });

  test(`${name}: results become its response, without fields that no upstream provides`, () => {
    assert.deepEqual(dialect.toResponse(answer, about), readFixture(dialect, "response.json"));
    const empty = JSON.stringify(dialect.toResponse({ ...answer, n: 0, results: [] }, about));
    assert.match(empty, /\[\]/, "no results are an empty list");
  });

  test(`${name}: an error keeps the members of a problem and adds its text where clients read it`, () => {
    const shape = findProblemShape(`/compat/${name}${dialect.path}`);
    const body = shape?.(problem) as Record<string, unknown>;
    for (const member of ["status", "title", "code", "request_id"] as const)
      assert.equal(body[member], problem[member]);
    assert.ok(JSON.stringify(dialect.toError(problem)).includes(problem.detail));
    assert.deepEqual(findProblemShape(`/compat/${name}/unknown`)?.(problem), body);
    assert.equal(Array.isArray(body), false, "a failure is never a list");
  });

  test(`${name}: without a count it returns the vendor's default, and more than 20 are reported`, () => {
    assert.deepEqual(translate(dialect, minimal(dialect)), {
      search: { query: "cats", n: dialect.defaultCount },
      sources: undefined,
      ignored: [],
      capped: undefined,
    });
    if (count === "") return;
    for (const large of [21, 1e9]) {
      const { search, capped } = translate(dialect, {
        ...minimal(dialect),
        [count]: method === "GET" ? String(large) : large,
      });
      assert.deepEqual([search.n, capped], [20, `${count}=20`]);
    }
    const { search } = translate(dialect, { ...minimal(dialect), [count]: null });
    assert.equal(search.n, dialect.defaultCount);
    const invalid = method === "GET" ? ["-1", "0", "1.5", "x", "9".repeat(400)] : [-1, 0, 1.5, "5", true, {}, Infinity];
    for (const value of invalid) {
      const { code, detail } = problemOf(() => translate(dialect, { ...minimal(dialect), [count]: value }));
      assert.equal(code, "invalid_request");
      assert.ok(detail.includes(`\`${count}\` must be an integer`), detail);
    }
  });

  test(`${name}: a parameter that would change the results is refused, unless it is ignored by request`, () => {
    for (const [parameter, rule] of Object.entries(parameters)) {
      if (rule.use !== "refused" && rule.use !== "category") continue;
      const group = rule.use === "category" ? "topic" : rule.group;
      const request = { ...minimal(dialect), [parameter]: "a value" };
      const { code, detail } = problemOf(() => translate(dialect, request));
      assert.equal(code, "invalid_request");
      assert.ok(detail.includes(`\`${parameter}\``), detail);
      if (group === undefined) problemOf(() => translate(dialect, request, parameter));
      else {
        assert.ok(detail.includes(groups[group]) && detail.includes(`Pennyblack-Ignore: ${group}`), detail);
        // Most clients cannot send the header.
        assert.ok(detail.includes(`add \`${group}\` to \`compat.ignore\` of the key`), detail);
        assert.deepEqual(translate(dialect, request, group).ignored, [parameter]);
        assert.deepEqual(translate(dialect, request, parameter).ignored, [parameter]);
      }
      for (const absent of [null, "", []]) {
        if (method === "GET" && Array.isArray(absent)) continue;
        assert.deepEqual(translate(dialect, { ...minimal(dialect), [parameter]: absent }).ignored, []);
      }
      if (rule.use === "category") continue;
      for (const value of rule.neutral ?? []) {
        assert.deepEqual(translate(dialect, { ...minimal(dialect), [parameter]: value }).ignored, []);
      }
      for (const value of rule.defaults ?? []) {
        assert.deepEqual(translate(dialect, { ...minimal(dialect), [parameter]: value }).ignored, [parameter]);
      }
    }
  });

  for (const [parameter, rule] of Object.entries(parameters)) {
    if (rule.use !== "domains") continue;
    const { list } = rule;
    test(`${name}: ${parameter} becomes a source policy, and what it cannot express is refused`, () => {
      const sourcesOf = (value: unknown, ...ignore: string[]) =>
        translate(dialect, { ...minimal(dialect), [parameter]: value }, ...ignore);
      const [entries, sources] = domainLists[list];
      assert.deepEqual(sourcesOf(entries).sources, sources);
      const prefix = list === "either" ? "-" : "";
      assert.deepEqual(
        sourcesOf(`${prefix}example.com`).sources,
        list === "only" ? { block: [], only: ["example.com"] } : { block: ["example.com"] },
      );
      for (const absent of [null, "", []]) assert.equal(sourcesOf(absent).sources, undefined);
      const many = Array.from({ length: 201 }, (_, index) => `${prefix}site-${index}.example`);
      const invalid = ["*.example.com", "https://example.com", "example.com/path", "com", "192.0.2.1", "", 1, null];
      for (const value of [many, 1, {}, ...invalid.map((entry) => ["example.com", entry])]) {
        const { code, detail } = problemOf(() => sourcesOf(value));
        assert.equal(code, "invalid_request");
        assert.match(detail, /must have at most 200 entries, which are domains or hosts.*Pennyblack-Ignore: domains/);
        const { sources: none, ignored } = sourcesOf(value, "domains");
        assert.deepEqual([none, ignored], [undefined, [parameter]]);
      }
      if (list === "block") return;
      const three = ["a.example", "b.example", "c.example"];
      const { detail } = problemOf(() => sourcesOf(three));
      assert.match(detail, /must have at most 2 domains.*but has 3.*Pennyblack-Ignore: domains/);
      assert.deepEqual(sourcesOf(three, parameter).sources, undefined);
    });
  }

  test(`${name}: unknown parameters, prototype keys and repeated parameters are refused`, () => {
    for (const unknown of ["pages", "constructor", "toString", "__proto__", "a\r\nset-cookie: x=1"]) {
      const request = JSON.parse(JSON.stringify(minimal(dialect)).replace("{", `{${JSON.stringify(unknown)}:"x",`));
      assert.equal(problemOf(() => translate(dialect, request)).code, "invalid_request", unknown);
      const isToken = /^\w+$/.test(unknown);
      if (isToken) assert.deepEqual(translate(dialect, request, unknown).ignored, [unknown]);
      else problemOf(() => translate(dialect, request, unknown));
    }
    for (const notAnObject of [null, [], "cats", 1]) problemOf(() => translate(dialect, notAnObject));
    if (method !== "GET") return;
    for (const parameter of Object.keys(parameters)) {
      const { detail } = problemOf(() => translate(dialect, { ...minimal(dialect), [parameter]: ["a", "b"] }));
      assert.match(detail, /must be sent once/);
    }
  });

  test(`${name}: any request is translated or rejected with a problem, and headers stay valid`, () => {
    const names = fc.oneof(fc.constantFrom(...Object.keys(parameters)), fc.string());
    const request = fc.dictionary(names, fc.jsonValue()).map((more) => ({ ...minimal(dialect), ...more }));
    fc.assert(
      fc.property(request, fc.array(names), (given, ignore) => {
        try {
          const { search, ignored } = translate(dialect, given, ...ignore);
          assert.equal(typeof search.query, "string");
          assert.ok(Number.isInteger(search.n) && search.n >= 1 && search.n <= 20);
          assert.match(ignored.join(", "), /^[\w, ]*$/);
        } catch (error) {
          assert.ok(error instanceof Problem, String(error));
          assert.ok(error.status === 400);
        }
      }),
      { numRuns: 200 },
    );
  });
}

test("of a thousand unknown parameters, twenty are reported and compared with the known ones", () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `a${index}`);
  for (const dialect of dialects) {
    let listed = 0;
    const ownKeys = (target: object): (string | symbol)[] => {
      listed += 1;
      return Reflect.ownKeys(target);
    };
    const parameters = new Proxy<Dialect["parameters"]>(dialect.parameters, { ownKeys });
    const request = Object.fromEntries(names.map((name) => [name, "x"]));
    const { members } = problemOf(() => translate({ ...dialect, parameters }, request));
    assert.equal((members["errors"] as unknown[]).length, 20);
    assert.ok(listed <= 25, `${dialect.name}: ${listed}`);
  }
});

test("a key in the body must be the one in the headers", () => {
  const tavily = dialects.find(({ name }) => name === "tavily");
  assert.ok(tavily);
  assert.deepEqual(translate(tavily, { query: "cats", api_key: key }).ignored, []);
  const { code, detail, members } = problemOf(() => translate(tavily, { query: "cats", api_key: "pb_test_other" }));
  assert.equal(code, "conflicting_credentials");
  assert.ok(!`${detail}${JSON.stringify(members)}`.includes("pb_test_other"));
});

test("the vendor's header and the password of Basic become an API key", () => {
  const find = (name: string) => dialects.find((dialect) => dialect.name === name) as Dialect;
  assert.deepEqual(withApiKey(find("brave"), ["X-Subscription-Token", key]), ["x-api-key", key]);
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  assert.deepEqual(withApiKey(find("searxng"), ["Authorization", basic(`key:${key}`)]), ["x-api-key", key]);
  for (const value of [basic("no colon"), basic("key:a\r\nb"), basic("key:"), "Basic !", `Bearer ${key}`]) {
    assert.deepEqual(withApiKey(find("searxng"), ["Authorization", value]), ["Authorization", value]);
  }
  assert.deepEqual(withApiKey(find("tavily"), ["Authorization", basic(`key:${key}`)])[0], "Authorization");
});

test("the settings of a key become headers, unless the client sent its own", () => {
  const openWebui = dialects.find(({ name }) => name === "open-webui") as Dialect;
  const sent = { "x-openwebui-user-id": "user-1", "x-openwebui-chat-id": "chat-1" };
  const run = { maxMicros: 250_000n, ttlSeconds: 600 };
  const search = { query: "cats", n: 3 };
  const base = { search, sources: undefined, key, now: 1_000_000, headers: sent };
  assert.deepEqual(deriveHeaders(openWebui, { ...base, settings: undefined }), { ...sent, "search-for": "user-1" });
  const derived = deriveHeaders(openWebui, { ...base, settings: { ignore: [], run, repeatSeconds: 600 } });
  assert.equal(derived["search-run"], "chat-1; max=0.25; ttl=600");
  const repeat = (more: object): string | undefined =>
    deriveHeaders(openWebui, { ...base, settings: { ignore: [], repeatSeconds: 600 }, ...more })["idempotency-key"];
  assert.equal(repeat({}), derived["idempotency-key"]);
  assert.equal(repeat({ now: 1_100_000 }), repeat({}), "in the same period");
  const others = [
    { now: 1_300_000 },
    { key: "pb_test_other" },
    { search: { ...search, n: 4 } },
    { search: { ...search, category: "gov" } },
    { sources: { block: ["example.com"] } },
    { sources: { block: [], only: ["example.com"] } },
  ];
  assert.equal(new Set([repeat({}), ...others.map(repeat)]).size, others.length + 1);
  assert.equal(repeat({ headers: { "idempotency-key": "mine" } }), "mine");
  assert.deepEqual(
    [...readIgnore({ "pennyblack-ignore": "domains, , freshness" }, { ignore: ["country"] })],
    ["domains", "freshness", "country"],
  );
});
