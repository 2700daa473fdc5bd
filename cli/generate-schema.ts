import { readFileSync, writeFileSync } from "node:fs";

// Part of `npm run generate`: writes the JSON Schema of pennyblack.json from openapi.json. The file describes the same objects as
// the requests that create them, with an external id, by which `pennyblack apply` finds them. With --check it fails if the schema
// is stale.

type Schema = Record<string, unknown>;

const target = new URL("pennyblack.schema.json", import.meta.url);
const document = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8")) as {
  components: { schemas: Record<string, Schema> };
};
const { schemas } = document.components;

const external_id = {
  ...textOf(property("CreateKeyRequest", "external_id")),
  description: "Your id for the object, by which it is found. Unique in its list and mode.",
};

const types: Record<string, Schema> = {
  Key: extend("CreateKeyRequest", {
    external_id,
    budgets: {
      ...property("CreateKeyRequest", "budgets"),
      items: textOf(external_id),
      description: "External ids of budgets in this file, of the key's mode, from which its searches also spend.",
    },
  }),
  Budget: extend("CreateBudgetRequest", { external_id }),
  Webhook: extend("CreateWebhookRequest", {
    external_id,
    enabled: { type: "boolean", description: "Whether events are delivered. Not compared if it is absent." },
  }),
};

const list = (name: string, description: string): Schema => ({
  type: "array",
  items: { $ref: `#/$defs/${name}` },
  description,
});

const root = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "pennyblack.json",
  description: "The settings of a wallet for `pennyblack apply`. Sections that are absent are left unchanged.",
  type: "object",
  properties: {
    $schema: { type: "string", description: "The path or URL of this schema, for editors." },
    budgets: list("Budget", "Budgets that several keys share."),
    keys: list("Key", "API keys."),
    webhooks: list("Webhook", "Webhooks."),
    alerts: { $ref: "#/$defs/AlertSettings" },
    auto_top_up: {
      anyOf: [{ $ref: "#/$defs/SetAutoTopUpRequest" }, { type: "null" }],
      description: "The automatic top-up. Null for none.",
    },
  },
  additionalProperties: false,
};

const schema = { ...root, $defs: findDefinitions(root) };
const text = `${JSON.stringify(renameReferences(schema), undefined, 2)}\n`;

if (!process.argv.includes("--check")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  process.stderr.write("Stale: cli/pennyblack.schema.json. Run: npm run generate\n");
  process.exitCode = 1;
}

/** The schema of a request with other or more properties. */
function extend(name: string, properties: Schema): Schema {
  const request = schemas[name] as { required: string[]; properties: Schema };
  return {
    ...request,
    required: ["external_id", ...request.required],
    properties: { ...request.properties, ...properties },
  };
}

function property(name: string, field: string): Schema {
  return (schemas[name] as { properties: Record<string, Schema> }).properties[field] ?? {};
}

/** Of a text that can be null. */
function textOf(field: Schema): Schema {
  const { anyOf } = field as { anyOf?: Schema[] };
  return anyOf?.find(({ type }) => type === "string") ?? { type: "string", pattern: field["pattern"] };
}

/** The types that a schema refers to, directly or not, by name. */
function findDefinitions(from: Schema, found: Record<string, Schema> = {}): Record<string, Schema> {
  for (const [, name = ""] of JSON.stringify(from).matchAll(/"#\/(?:\$defs|components\/schemas)\/(\w+)"/g)) {
    const definition = types[name] ?? schemas[name];
    if (!definition) throw new Error(`openapi.json has no schema ${name}`);
    if (name in found) continue;
    found[name] = definition;
    findDefinitions(definition, found);
  }
  return found;
}

function renameReferences(value: Schema): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll("#/components/schemas/", "#/$defs/"));
}
