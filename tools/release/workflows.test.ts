import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { parts } from "../check-all-parts.ts";
import { installOnDemand } from "../on-demand/install-on-demand.ts";
import { root } from "./products.ts";

// Validates the workflows with GitHub's own language service, and checks the rules that it does not have.

interface Step {
  uses?: string;
  run?: string;
}

interface Job {
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
  steps: Step[];
}

interface Workflow {
  permissions?: Record<string, string>;
  jobs: Record<string, Job>;
}

type Validate = (document: unknown) => Promise<{ message: string; range: { start: { line: number } } }[]>;

// The package imports JSON without the attribute that Node requires.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    return resolved.url.endsWith(".json") ? { ...resolved, importAttributes: { type: "json" } } : resolved;
  },
});
const modules = join(installOnDemand("release"), "node_modules");
const { validate } = (await load("@actions/languageservice/dist/index.js")) as { validate: Validate };
const { TextDocument } = (await load("vscode-languageserver-textdocument/lib/esm/main.js")) as {
  TextDocument: { create(uri: string, language: string, version: number, text: string): unknown };
};
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };

function load(path: string): Promise<unknown> {
  return import(pathToFileURL(join(modules, path)).href);
}

async function findFaults(text: string): Promise<string[]> {
  // The service caches documents by their name.
  const name = `file:///.github/workflows/${createHash("sha256").update(text).digest("hex")}.yml`;
  const document = TextDocument.create(name, "yaml", 1, text);
  const diagnostics = await validate(document);
  return [...diagnostics.map(({ message, range }) => `line ${range.start.line + 1}: ${message}`), ...ruleFaults(text)];
}

function ruleFaults(text: string): string[] {
  const { permissions, jobs } = parse(text) as Workflow;
  const unpinned = text.split("\n").filter((line) => /^\s*(?:- )?uses:/.test(line) && !isPinned(line));
  return [
    ...(permissions === undefined ? ["the workflow has the default permissions"] : []),
    ...unpinned.map((line) => `not pinned by commit with a version: ${line.trim()}`),
    ...Object.entries(jobs).flatMap(([name, job]) => [
      ...(job["timeout-minutes"] === undefined ? [`${name} has no timeout`] : []),
      ...job.steps.flatMap(({ run = "" }) => commandFaults(run)),
    ]),
  ];
}

function isPinned(line: string): boolean {
  return /uses: [\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line);
}

/** A value that GitHub inserts into a command could contain shell syntax, and a script that does not exist fails too late. */
function commandFaults(command: string): string[] {
  const [program = ""] = command.trim().split(" ");
  const called = [...command.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = ""]) => name);
  return [
    ...(command.includes("${{") ? [`a command contains an expression: ${command}`] : []),
    ...called.filter((name) => scripts[name] === undefined).map((name) => `package.json has no script ${name}`),
    ...(program.startsWith(".ci/") && !existsSync(join(root, program)) ? [`${program} does not exist`] : []),
  ];
}

const files = globSync(".github/workflows/*.yml", { cwd: root }).toSorted();

test("there are workflows for CI, the nightly checks, the version and the release", () => {
  assert.deepEqual(
    files.map((file) => file.split("/").at(-1)),
    ["ci.yml", "nightly.yml", "release.yml", "version.yml"],
  );
});

for (const file of files) {
  test(`${file} is valid`, async () => {
    assert.deepEqual(await findFaults(readFileSync(join(root, file), "utf8")), []);
  });
}

test("only jobs that publish can write or have an identity", () => {
  const { jobs } = parse(readFileSync(join(root, ".github/workflows/release.yml"), "utf8")) as Workflow;
  const writes = Object.entries(jobs).map(([name, { permissions = {} }]) => [
    name,
    Object.keys(permissions).filter((scope) => permissions[scope] === "write"),
  ]);
  assert.deepEqual(Object.fromEntries(writes), {
    packages: [],
    npm: ["id-token"],
    pypi: ["id-token"],
    "image-build": ["packages"],
    image: ["packages", "id-token"],
    chart: ["packages", "id-token"],
    page: ["contents"],
  });
});

const pinned = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1";
const valid = `on: push
permissions: {}
jobs:
  build:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: ${pinned}
      - run: npm run test
`;

test("a valid workflow has no faults", async () => assert.deepEqual(await findFaults(valid), []));

const faults: [name: string, from: string, to: string, expected: RegExp][] = [
  ["an unknown key", "runs-on", "runs-onn", /Unexpected value 'runs-onn'|runs-on/],
  ["an unknown permission", "permissions: {}", "permissions: { content: read }", /Unexpected value 'content'/],
  [
    "an unknown job",
    "timeout-minutes: 5",
    "timeout-minutes: 5\n    needs: gone",
    /unknown job 'gone'|'gone' is not valid/,
  ],
  ["an unknown context", "runs-on: ubuntu-24.04", `runs-on: \${{ matrixx.runner }}`, /matrixx/],
  ["an action pinned by tag", pinned, "actions/checkout@v7", /not pinned by commit/],
  ["no permissions", "permissions: {}\n", "", /default permissions/],
  ["no timeout", "    timeout-minutes: 5\n", "", /build has no timeout/],
  ["an expression in a command", "npm run test", `echo \${{ github.ref_name }}`, /contains an expression/],
  ["an unknown script", "npm run test", "npm run tset", /no script tset/],
];

for (const [name, from, to, expected] of faults) {
  test(`${name} is reported`, async () => {
    const found = await findFaults(valid.replace(from, to));
    assert.match(found.join("\n"), expected);
  });
}

test("every part of the long checks runs nightly", () => {
  const { jobs } = parse(readFileSync(join(root, ".github/workflows/nightly.yml"), "utf8")) as {
    jobs: Record<string, { strategy?: { matrix: { part: string[] } } }>;
  };
  assert.deepEqual(jobs["part"]?.strategy?.matrix.part, Object.keys(parts));
});
