import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { renderChart } from "../../deploy/helm/render-chart.ts";
import { artifactFaults, listArtifacts } from "./artifacts.ts";
import { buildPackages } from "./build.ts";
import { packageFaults } from "./check-tarballs.ts";
import { copyTree } from "./copy-tree.ts";
import { releaseVersion, root } from "./products.ts";
import { applyChangesets } from "./version.ts";
import { versionDifferences, versionFiles } from "./versions.ts";

// Rehearses a release as `npm run release:dry` does, without the image. server/test/stories/release.long.test.ts installs and uses
// the packages.

const folder = join(root, ".pennyblack/release-test");
const [tree, out] = [join(folder, "tree"), join(folder, "out")];
copyTree(tree);
const change = '---\n"@pennyblack/sdk": patch\n---\n\nSet the new option.\n';
writeFileSync(join(tree, ".changeset/planted.md"), change);
const before = releaseVersion(tree);
const version = applyChangesets(tree, "2026-02-02");
buildPackages(tree, out);

after(() => rmSync(folder, { recursive: true }));

test("changesets raise the version everywhere, and their notes move to the changelog and the page", () => {
  assert.notEqual(version, before);
  const files = new Map(versionFiles.map((file) => [file, readFileSync(join(tree, file), "utf8")]));
  assert.deepEqual(versionDifferences(files), []);
  assert.equal((JSON.parse(files.get("openapi.json") ?? "") as { info: { version: string } }).info.version, version);
  const section = `## [${version}] - 2026-02-02\n`;
  const changelog = readFileSync(join(tree, "CHANGELOG.md"), "utf8");
  assert.ok(changelog.includes(section));
  assert.match(changelog, /^- `@pennyblack\/sdk`: Set the new option\.$/m);
  assert.ok(readFileSync(join(tree, "docs/changelog.md"), "utf8").includes(section));
  assert.ok(readFileSync(join(tree, "docs/upgrading.md"), "utf8").includes(`### ${version}\n`));
  assert.equal(applyChangesets(tree), version);
});

test("the folder has every file of a release with its version and size, and valid checksums", () => {
  const rows = listArtifacts(tree, out).split("\n");
  assert.equal(rows.length, 9);
  for (const row of rows) assert.match(row, new RegExp(` ${RegExp.escape(version)} +\\d+\\.\\d kB$`));
  execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: out, stdio: "ignore" });
  assert.deepEqual(artifactFaults(tree, out), [
    `pennyblack-image-${version}.tar: missing`,
    `image-${version}.cdx.json: missing`,
  ]);
  writeFileSync(join(out, "notes.txt"), "");
  assert.deepEqual(artifactFaults(tree, out, ["image"]), ["notes.txt: not part of a release"]);
  rmSync(join(out, "notes.txt"));
});

test("the packed chart renders the same objects as its folder, and the SBOM lists what the packages install", () => {
  execFileSync("tar", ["-xzf", join(out, `pennyblack-chart-${version}.tgz`), "-C", folder]);
  assert.deepEqual(renderChart(join(folder, "pennyblack")), renderChart(join(tree, "deploy/helm/pennyblack")));
  const sbom = JSON.parse(readFileSync(join(out, `npm-packages-${version}.cdx.json`), "utf8")) as {
    components: { purl: string }[];
  };
  const purls = sbom.components.map(({ purl }) => purl.replace("%40", "@"));
  for (const name of [
    "@pennyblack/sdk",
    "@pennyblack/cli",
    "@pennyblack/mcp",
    "@pennyblack/ai-sdk",
    "pennyblack-overspend",
  ])
    assert.ok(purls.includes(`pkg:npm/${name}@${version}`), name);
  assert.ok(purls.some((purl) => purl.startsWith("pkg:npm/commander@")));
  assert.equal(purls.length, 6);
});

/** The manifest of the CLI, unpacked, with a change. */
type Edit = (packed: string) => void;

const editManifest =
  (edit: (manifest: Record<string, unknown>) => void): Edit =>
  (packed) => {
    const file = join(packed, "package.json");
    const manifest = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    edit(manifest);
    writeFileSync(file, JSON.stringify(manifest));
  };

const faults: [name: string, edit: Edit, expected: RegExp][] = [
  ["a test", (packed) => writeFileSync(join(packed, "dist/cli.test.js"), ""), /dist\/cli\.test\.js does not belong/],
  [
    "a file without a source",
    (packed) => writeFileSync(join(packed, "dist/old.js"), ""),
    /dist\/old\.js does not belong/,
  ],
  ["a hidden file", (packed) => writeFileSync(join(packed, ".env"), "A=1"), /\.env does not belong/],
  ["no license", (packed) => rmSync(join(packed, "LICENSE")), /LICENSE is missing/],
  ["no README", (packed) => rmSync(join(packed, "README.md")), /README\.md is missing/],
  [
    "a module that was not compiled",
    (packed) => rmSync(join(packed, "dist/terminal.js")),
    /dist\/terminal\.js is missing/,
  ],
  [
    "a program without an interpreter",
    (packed) => writeFileSync(join(packed, "dist/main.js"), ""),
    /does not start with/,
  ],
  ["an install script", editManifest((m) => Object.assign(m, { scripts: { install: "x" } })), /has scripts/],
  ["another version", editManifest((m) => Object.assign(m, { version: "9.9.9" })), /version 9\.9\.9 instead/],
  ["no provenance", editManifest((m) => Object.assign(m, { publishConfig: { access: "public" } })), /provenance/],
  ["a missing program", editManifest((m) => Object.assign(m, { bin: { pennyblack: "dist/gone.js" } })), /gone\.js/],
  [
    "an unresolved export",
    editManifest((m) => Object.assign(m, { exports: { ".": { types: "dist/gone.d.ts", default: "dist/main.js" } } })),
    /gone\.d\.ts/,
  ],
  [
    "another version of the SDK",
    editManifest((m) => Object.assign(m, { dependencies: { "@pennyblack/sdk": "0.0.1-old" } })),
    /depends on @pennyblack\/sdk 0\.0\.1-old/,
  ],
  [
    "a dependency under another license",
    editManifest((m) => Object.assign(m, { dependencies: { "axe-core": "4.0.0" } })),
    /axe-core, whose license MPL-2\.0 is not allowed/,
  ],
];

for (const [name, edit, expected] of faults) {
  test(`a package with ${name} is rejected`, () => {
    const scratch = mkdtempSync(join(tmpdir(), "pennyblack-fault-"));
    try {
      execFileSync("tar", ["-xzf", join(out, `pennyblack-cli-${version}.tgz`), "-C", scratch]);
      const packed = join(scratch, "package");
      assert.deepEqual(packageFaults(packed, join(tree, "cli"), version), []);
      edit(packed);
      const found = packageFaults(packed, join(tree, "cli"), version);
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", expected);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });
}

test("a tag must match the version, without changesets left", () => {
  const check = (tag: string): string => {
    const args = [join(tree, "tools/release/check-tag.ts"), tag];
    return spawnSync(process.execPath, args, { encoding: "utf8" }).stderr;
  };
  assert.equal(check(`v${version}`), "");
  assert.match(check("v9.9.9"), /does not match version/);
  writeFileSync(join(tree, ".changeset/late.md"), change);
  assert.match(check(`v${version}`), /changesets are left/);
  rmSync(join(tree, ".changeset/late.md"));
});

test("the publishing steps print their commands in a dry run", () => {
  const run = (script: string, ...args: string[]): string =>
    execFileSync(process.execPath, [join(tree, "tools/release", script), ...args, "--dry-run"], { encoding: "utf8" });
  const image = "ghcr.io/example/pennyblack";
  assert.match(run("publish-image.ts", "build", image, join(folder, "amd64")), /buildx build .*push-by-digest=true/);
  const published = run("publish-image.ts", "publish", image, "amd64", "arm64");
  assert.ok(published.includes(`imagetools create --tag ${image}:${version} ${image}@`), published);
  assert.match(published, /cosign sign .*\n.*\n.*cosign attest --yes --type cyclonedx/);
  const chart = run("publish-chart.ts", out, "ghcr.io/example/charts");
  assert.match(chart, /helm lint .*\n.*helm push .* oci:\/\/ghcr\.io\/example\/charts\n.*cosign sign/);
  assert.match(run("open-pull-request.ts"), new RegExp(`gh pr create .*'Release ${RegExp.escape(version)}'`));
  const changes = execFileSync(process.execPath, [join(tree, "tools/release/print-changes.ts")], { encoding: "utf8" });
  assert.ok(changes.startsWith(`## [${version}] - 2026-02-02\n`));
  assert.doesNotMatch(changes, /API checksum/);
});
