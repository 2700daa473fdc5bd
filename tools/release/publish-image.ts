// The image is built on one machine for each architecture, and then published under one name.
//
//   npm run release:image -- build REPOSITORY FILE      builds and pushes the image of this machine, without a tag, and writes
//                                                       its digest to FILE
//   npm run release:image -- publish REPOSITORY FILE... joins the digests under the tag of this version, signs the result and
//                                                       attaches its SBOM
//
// With --dry-run the commands are only printed. Requires docker with buildx and a login to the registry; "publish" also
// requires cosign, which signs with the identity of the CI job.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { releaseVersion, root } from "./products.ts";
import { createRunner } from "./run-command.ts";

const isDryRun = process.argv.includes("--dry-run");
const [command, repository = "", ...files] = process.argv.slice(2).filter((word) => word !== "--dry-run");
const run = createRunner(isDryRun, root);
const base = "docker.io/library/node:24-bookworm-slim";

if (command === "build" && files.length === 1) build(resolve(files[0] ?? ""));
else if (command === "publish" && files.length > 0) publish();
else {
  console.error("Usage: npm run release:image -- build REPOSITORY FILE | publish REPOSITORY FILE...");
  process.exitCode = 2;
}

function build(file: string): void {
  const baseDigest = inspectDigest(base);
  const metadata = join(root, ".pennyblack/release/image.json");
  mkdirSync(dirname(metadata), { recursive: true });
  run("docker", "buildx", "create", "--use", "--name", "release");
  const attestations = ["--provenance=mode=max", "--sbom=true"];
  const output = `type=image,name=${repository},push-by-digest=true,name-canonical=true,push=true`;
  const options = ["--build-arg", `BASE=${base}@${baseDigest}`, "--metadata-file", metadata, "--output", output];
  run("docker", "buildx", "build", ...attestations, ...options, ".");
  if (isDryRun) return;
  const { "containerimage.digest": digest = "" } = JSON.parse(readFileSync(metadata, "utf8")) as Record<string, string>;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, digest);
}

function publish(): void {
  const tag = `${repository}:${releaseVersion()}`;
  const parts = files.map((file) => `${repository}@${isDryRun ? "sha256:dry-run" : readFileSync(file, "utf8").trim()}`);
  run("docker", "buildx", "imagetools", "create", "--tag", tag, ...parts);
  const image = `${repository}@${inspectDigest(tag)}`;
  run("cosign", "sign", "--yes", "--recursive", image);
  const sbom = join(root, ".pennyblack/release/image.cdx.json");
  const text = run("npm", "run", "--silent", "image", "--", "sbom", image);
  if (!isDryRun) writeFileSync(sbom, text);
  run("cosign", "attest", "--yes", "--type", "cyclonedx", "--predicate", sbom, image);
}

function inspectDigest(reference: string): string {
  const digest = run("docker", "buildx", "imagetools", "inspect", reference, "--format", "{{.Manifest.Digest}}");
  return isDryRun ? "sha256:dry-run" : digest;
}
