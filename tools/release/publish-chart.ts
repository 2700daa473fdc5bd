// npm run release:chart -- FOLDER REPOSITORY [--dry-run]: pushes the chart in FOLDER to an OCI registry and signs it. Requires
// Helm with a login to the registry, and cosign.

import { globSync } from "node:fs";
import { resolve } from "node:path";
import { chartName, root } from "./products.ts";
import { createRunner } from "./run-command.ts";

const isDryRun = process.argv.includes("--dry-run");
const [out = "", repository = ""] = process.argv.slice(2);
const run = createRunner(isDryRun, root);
const [archive] = globSync(`${chartName}-chart-*.tgz`, { cwd: out });
if (archive === undefined) throw new Error(`${out} has no chart`);

run("helm", "lint", "--strict", resolve(out, archive));
// Helm prints the digest on standard error.
const pushed = run("sh", "-c", `helm push "$0" "$1" 2>&1`, resolve(out, archive), `oci://${repository}`);
const digest = isDryRun ? "sha256:dry-run" : /^Digest: (sha256:[0-9a-f]{64})$/m.exec(pushed)?.[1];
if (digest === undefined) throw new Error(`helm push printed no digest:\n${pushed}`);
run("cosign", "sign", "--yes", `${repository}/${chartName}@${digest}`);
