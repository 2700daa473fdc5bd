import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import ts from "typescript";

// Part of `npm run generate`: writes src/api.ts, one type for each schema in openapi.json. With --check it fails if the file
// is stale.

const target = new URL("src/api.ts", import.meta.url);
const document: unknown = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8"));
const { openapi, info, components } = document as Required<OpenAPI3>;
const nodes = await openapiTS(
  { openapi, info, paths: {}, components: { schemas: components.schemas ?? {} } },
  // A field with a default is optional in a request.
  { defaultNonNullable: false },
);
const text = [
  "// Generated from openapi.json by `npm run generate`.\n",
  // The generator nests all schemas in one interface. As separate types they have readable names in editors.
  ...findSchemas(nodes).map((schema) => astToString(toTypeAlias(schema))),
]
  .join("\n")
  .replaceAll(/components\["schemas"\]\["(\w+)"\]/g, "$1")
  .replaceAll("@description ", "");

if (!process.argv.includes("--check")) writeFileSync(target, text);
else if (readFileSync(target, "utf8") !== text) {
  process.stderr.write("Stale: sdk/src/api.ts. Run: npm run generate\n");
  process.exitCode = 1;
}

function findSchemas(found: readonly ts.Node[]): ts.PropertySignature[] {
  const container = found.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === "components");
  const members = container && ts.isInterfaceDeclaration(container) ? container.members : [];
  const schemas = members.find(
    (member) => member.name && ts.isIdentifier(member.name) && member.name.text === "schemas",
  );
  if (!schemas || !ts.isPropertySignature(schemas) || !schemas.type || !ts.isTypeLiteralNode(schemas.type)) {
    throw new Error("openapi-typescript returned no schemas");
  }
  return schemas.type.members.filter(ts.isPropertySignature);
}

function toTypeAlias(schema: ts.PropertySignature): ts.Node {
  const { name, type } = schema;
  if (!ts.isIdentifier(name) || !type) throw new Error("a schema has no name or type");
  const modifiers = [ts.factory.createModifier(ts.SyntaxKind.ExportKeyword)];
  const alias = ts.factory.createTypeAliasDeclaration(modifiers, name, undefined, type);
  return ts.setSyntheticLeadingComments(alias, ts.getSyntheticLeadingComments(schema));
}
