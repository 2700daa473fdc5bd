import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import { createComponents } from "./components.ts";
import { exampleOf } from "./openapi.ts";
import { apiProblemCodes, problemMembers, problemSchema } from "./problem-schema.ts";

const file = new URL("../../../openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(file, "utf8"));

interface Operation {
  operationId: string;
  tags: string[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}

type Content = Record<string, { schema?: object }>;

const operations = Object.values<Record<string, Operation>>(document.paths).flatMap((methods) =>
  Object.values(methods),
);

test("openapi.json has less than 200 kB without indentation, as servers send it", () => {
  const { length } = JSON.stringify(document);
  assert.ok(length < 200_000, `${length} bytes`);
});

test("every JSON body has a named schema", () => {
  for (const { operationId, requestBody, responses } of operations) {
    for (const { content = {} } of [...(requestBody ? [requestBody] : []), ...Object.values(responses)]) {
      const { schema = {} } = content["application/json"] ?? content["application/problem+json"] ?? {};
      const isText = Object.keys(content).some((type) => type.startsWith("text/") || type === "application/jsonl");
      // A response without content is itself a reference.
      if (Object.keys(content).length > 0 && !isText) assert.deepEqual(Object.keys(schema), ["$ref"], operationId);
    }
  }
});

test("operations have unique names that start with a verb, and one tag", () => {
  const ids = operations.map(({ operationId }) => operationId);
  assert.deepEqual(ids, [...new Set(ids)]);
  const verbs =
    /^(?:archive|create|delete|export|get|inspect|list|receive|replay|request|revoke|rotate|set|test|update)[A-Z]/;
  for (const { operationId, tags } of operations) {
    assert.match(operationId, verbs);
    assert.equal(tags.length, 1, operationId);
  }
});

test("a schema with a title becomes a component, also inside another one, and its fields keep their titles", () => {
  const components = createComponents();
  const inner = Type.Object({ title: Type.String() }, { title: "Inner" });
  const described = components.describeSchema(Type.Object({ list: Type.Array(inner) }, { title: "Outer" }));
  assert.deepEqual(described, { $ref: "#/components/schemas/Outer" });
  assert.deepEqual(components.collected.schemas, {
    Inner: { type: "object", required: ["title"], properties: { title: { type: "string" } } },
    Outer: {
      type: "object",
      required: ["list"],
      properties: { list: { type: "array", items: { $ref: "#/components/schemas/Inner" } } },
    },
  });
  components.describeSchema(inner);
  assert.throws(
    () => components.describeSchema(Type.String({ title: "Inner" })),
    /two different schemas are called Inner/,
  );
});

test("the example of every problem matches its schema, which describes all its members", () => {
  const validator = Compile(problemSchema as TSchema);
  const common = Object.keys(document.components.schemas.ProblemBase.properties);
  for (const code of apiProblemCodes) {
    const example = exampleOf(code);
    assert.deepEqual([...validator.Errors(example)], [], code);
    const members = Object.keys(example).filter((name) => !common.includes(name));
    const described = Object.keys(problemMembers[code] ?? {});
    assert.deepEqual(
      members.filter((name) => !described.includes(name)),
      [],
      `${code}: describe these members in problem-schema.ts`,
    );
  }
});
