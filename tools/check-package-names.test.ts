import assert from "node:assert/strict";
import test from "node:test";
import { unknownPackageNames } from "./check-package-names.ts";

const manifests: [string, string][] = [
  ["package.json", '{ "workspaces": ["server", "sdk", "overspend"] }'],
  ["server/package.json", '{ "name": "@pennyblack/server", "private": true }'],
  ["sdk/package.json", '{ "name": "@pennyblack/sdk" }'],
  ["overspend/package.json", '{ "name": "pennyblack-overspend" }'],
];

const check = (path: string, text: string): string[] => unknownPackageNames(new Map([...manifests, [path, text]]));

const valid = [
  "npm install @pennyblack/sdk",
  'import { Pennyblack } from "@pennyblack/sdk";',
  "npx -y pennyblack-overspend --help",
  "npm install ./release/pennyblack-sdk-0.1.0.tgz",
  "pip install pennyblack",
  "pip install 'pennyblack>=0.1'",
  "docker run ghcr.io/example/pennyblack:0.1.0",
  "docker run --env-file pennyblack.env pennyblack",
  "helm install search oci://ghcr.io/example/charts/pennyblack",
  "image: pennyblack:0.1.0",
  "node --conditions=@pennyblack/source cli/src/main.ts",
];

for (const text of valid) {
  test(`accepts ${text}`, () => assert.deepEqual(check("docs/page.md", text), []));
}

const invalid: [text: string, name: string][] = [
  ["npm install @pennyblack/langchain", "npm package @pennyblack/langchain"],
  ['import { Server } from "@pennyblack/server";', "npm package @pennyblack/server"],
  ["npx -y pennyblack-loadtest --help", "npm package pennyblack-loadtest"],
  ["pip install pennyblack-client", "Python package pennyblack-client"],
  ["pip install pennyblack-client==1.0", "Python package pennyblack-client"],
  ["docker pull ghcr.io/example/pennyblack-server:0.1.0", "image pennyblack-server"],
  ["podman run --rm pennyblack-worker", "image pennyblack-worker"],
  ["    image: pennyblack-worker:latest", "image pennyblack-worker"],
  ["helm install search oci://ghcr.io/example/charts/pennyblack-ha", "chart pennyblack-ha"],
];

for (const [text, name] of invalid) {
  test(`rejects ${text}`, () => {
    assert.deepEqual(check("docs/page.md", `\n${text}`), [`docs/page.md:2: no release produces the ${name}`]);
  });
}

test("examples, deployment files and the product are checked, tests and decisions are not", () => {
  const mention = "@pennyblack/other";
  const checked = [
    "README.md",
    "examples/a.ts",
    "deploy/a.yaml",
    "console/src/a.tsx",
    "server/src/a.ts",
    "mcp/server.json",
  ];
  for (const path of checked) assert.equal(check(path, mention).length, 1, path);
  for (const path of ["server/src/a.test.ts", "docs/decisions/0001-a.md", ".changeset/a.md"])
    assert.deepEqual(check(path, mention), [], path);
});
