import assert from "node:assert/strict";
import test from "node:test";
import { insertReleases, releaseChangelog } from "./upgrade-page.ts";

const page =
  "# Upgrading\n\n<!-- Generated from .changeset and CHANGELOG.md by `npm run generate`. -->\nold\n<!-- End of the generated notes -->\n";
const allPackages = ["@pennyblack/server", "@pennyblack/sdk"];
const changesets = [
  { packages: ["@pennyblack/server"], note: "Set `A`\nbefore you upgrade." },
  { packages: allPackages, note: "Everything is new." },
];
const changelog = [
  "# Changelog\n",
  "## [0.2.0] - Unreleased\n",
  "### Added\n\n- B\n",
  "## [0.1.0] - 2026-01-01\n",
  "### Added\n\n- A\n",
  "### Upgrade notes\n\n- See [docs](docs/errors.md).\n",
].join("\n");

test("the page has the pending notes and those of earlier releases, with links of the site", () => {
  assert.equal(
    insertReleases(page, { changesets, changelog, allPackages }),
    `# Upgrading

<!-- Generated from .changeset and CHANGELOG.md by \`npm run generate\`. -->

### Next release

- server: Set \`A\`
  before you upgrade.
- Everything is new.

### 0.1.0

- See [docs](errors.md).

<!-- End of the generated notes -->
`,
  );
});

test("a release moves the pending notes to its section of the changelog, and the page shows them", () => {
  const released = releaseChangelog(changelog, {
    changesets,
    changelog,
    allPackages,
    version: "0.2.0",
    date: "2026-02-02",
  });
  assert.match(released, /^## \[0\.2\.0\] - 2026-02-02\n\n### Added\n\n- B\n\n### Upgrade notes\n\n- server: Set `A`/m);
  assert.ok(released.endsWith(changelog.slice(changelog.indexOf("## [0.1.0]"))));
  const updated = insertReleases(page, { changesets: [], changelog: released, allPackages });
  assert.match(
    updated,
    /### 0\.2\.0\n\n- server: Set `A`\n {2}before you upgrade\.\n- Everything is new\.\n\n### 0\.1\.0/,
  );
  assert.doesNotMatch(updated, /Next release/);
});

test("a changelog without an unreleased section gets a new one above the earlier releases", () => {
  const earlier = changelog.replace(/## \[0\.2\.0\][^]*?(?=## \[0\.1\.0\])/, "");
  const released = releaseChangelog(earlier, {
    changesets,
    changelog,
    allPackages,
    version: "0.2.0",
    date: "2026-02-02",
  });
  assert.match(released, /^# Changelog\n\n## \[0\.2\.0\] - 2026-02-02\n\n### Upgrade notes\n[^]*\n## \[0\.1\.0\]/);
});

test("a page without the comments is an error", () => {
  assert.throws(() => insertReleases("# Upgrading\n", { changesets, changelog, allPackages }), /comments/);
});
