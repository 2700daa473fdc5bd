// npm run release:check-tag -- v0.1.0: fails if the tag is not the version of this commit, or if changesets are left.

import { readChangesets } from "./changesets.ts";
import { releaseVersion, root } from "./products.ts";

const [tag = ""] = process.argv.slice(2);
const faults = [
  ...(tag === `v${releaseVersion()}` ? [] : [`the tag ${tag} does not match version ${releaseVersion()}`]),
  ...(readChangesets(root).length === 0 ? [] : ["changesets are left; merge the release pull request first"]),
];
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
