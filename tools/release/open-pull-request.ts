// npm run release:pull-request [-- --dry-run]: commits the changes of `npm run release:version` to a branch and opens a pull
// request, or updates the open one. Requires git with push access and the GitHub CLI.

import { execFileSync } from "node:child_process";
import { releaseVersion, root } from "./products.ts";
import { createRunner } from "./run-command.ts";

const branch = "release-next";
const title = `Release ${releaseVersion()}`;
const isDryRun = process.argv.includes("--dry-run");
const run = createRunner(isDryRun, root);

if (!isDryRun && execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" }) === "") {
  console.log("no changesets, so there is nothing to release");
} else {
  run("git", "switch", "--force-create", branch);
  run("git", "add", "--all");
  const author = [
    "-c",
    "user.name=github-actions[bot]",
    "-c",
    "user.email=github-actions[bot]@users.noreply.github.com",
  ];
  run("git", ...author, "commit", "--quiet", "--message", title);
  run("git", "push", "--force", "origin", branch);
  const open = run("gh", "pr", "list", "--head", branch, "--json", "number", "--jq", ".[].number");
  const body =
    "Raises the version as the changesets require. After merging, push the tag of this version to publish it.";
  if (open === "") run("gh", "pr", "create", "--head", branch, "--title", title, "--body", body);
  else run("gh", "pr", "edit", open, "--title", title);
}
