// npm run image -- build            build the image into separate storage, for deploy/image/image.long.test.ts
// npm run image -- test             build the image and run those tests: consoles, a paid search, a stop under load
// npm run image -- compose          run deploy/compose.yaml with the image and stand-ins for the others, and make a paid search
// npm run image -- sbom [NAME]      print the SBOM of a local podman or docker image as CycloneDX
//
// The first three work without a container registry: they build the unmodified Dockerfile on a stand-in base image made from
// Debian packages. "test" and "compose" delete the storage afterwards, and so does the next "build". With a registry,
// "docker build ." is enough. They require root and Debian's podman, buildah, runc and mmdebstrap; "compose" also requires
// podman-compose, netavark and aardvark-dns.

import { execFileSync, spawnSync } from "node:child_process";
import { findProgram } from "../../tools/missing-programs.ts";
import { buildImage, imageFolder, missingPrerequisite, root, storageFolder } from "./build-image.ts";
import { openContainers } from "./containers.ts";
import { readSbom } from "./read-sbom.ts";
import { testCompose } from "./test-compose.ts";

type Command = "build" | "test" | "compose";

const [command, name = "pennyblack"] = process.argv.slice(2);
const startedMs = performance.now();

if (command === "sbom") await printSbom();
else if (command === "build" || command === "test" || command === "compose") await runCommand(command);
else printUsage();

async function printSbom(): Promise<void> {
  const engine = findProgram("podman") === undefined ? "docker" : "podman";
  console.log(await readSbom(async (...args) => execFileSync(engine, args, { encoding: "utf8" }), name));
}

async function runCommand(selected: Command): Promise<void> {
  const missing = missingPrerequisite(selected === "compose" ? { "podman-compose": "podman-compose" } : {});
  if (missing !== undefined) return skip(missing);
  await openContainers(storageFolder).close();
  const containers = openContainers(storageFolder);
  let keepImage = false;
  try {
    await buildImage(containers, imageFolder);
    log("built");
    if (selected === "compose") await testCompose(containers, imageFolder, log);
    if (selected === "test") runTests();
    keepImage = selected === "build";
  } finally {
    if (!keepImage) await containers.close();
  }
}

function runTests(): void {
  const args = ["--test", "deploy/image/image.long.test.ts"];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  process.exitCode = status ?? 1;
}

/** A missing prerequisite is an error only in CI. */
function skip(reason: string): void {
  log(`image not built: ${reason}`);
  if (process.env["CI"] === "true") process.exitCode = 1;
}

function log(line: string): void {
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(`[${seconds.padStart(4)} s] ${line}`);
}

function printUsage(): void {
  console.error("Usage: npm run image -- build | test | compose | sbom [NAME]");
  process.exitCode = 2;
}
