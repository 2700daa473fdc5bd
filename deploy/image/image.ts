// npm run image -- build            build the image into a storage of its own, where deploy/image/image.test.ts finds it
// npm run image -- test             the same, and run those tests: the console, a paid search, a stop under load
// npm run image -- compose          deploy/compose.yaml over that image, and stand-ins for the others, up to a paid search
// npm run image -- sbom [NAME]      what is in an image of this machine's podman or docker, as CycloneDX
//
// The first three are for machines that can reach Debian and npm but no registry of images: they build the Dockerfile as it
// is, on a stand-in for its base, in a storage of its own. "test" and "compose" delete that afterwards, the next "build" does
// too. Where a registry can be reached, "docker build ." does. They need root and Debian's podman, buildah, runc and
// mmdebstrap; "compose" also podman-compose, netavark and aardvark-dns.

import { execFileSync, spawnSync } from "node:child_process";
import { buildImage, imageFolder, root, storageFolder } from "./build-image.ts";
import { openContainers } from "./containers.ts";
import { readSbom } from "./read-sbom.ts";
import { testCompose } from "./test-compose.ts";

type Work = "build" | "test" | "compose";

const [command, name = "pennyblack"] = process.argv.slice(2);
const startedMs = performance.now();

if (command === "sbom") await printSbom();
else if (command === "build" || command === "test" || command === "compose") await work(command);
else fail();

async function printSbom(): Promise<void> {
  const engine = isMissing("podman") ? "docker" : "podman";
  console.log(await readSbom(async (...words) => execFileSync(engine, words, { encoding: "utf8" }), name));
}

async function work(what: Work): Promise<void> {
  const programs = ["podman", "buildah", "runc", "mmdebstrap", ...(what === "compose" ? ["podman-compose"] : [])];
  const missing = programs.filter(isMissing);
  if (missing.length > 0) return skip(`${missing.join(", ")} must be installed`);
  if (process.getuid?.() !== 0) return skip("only root can make the file system of another Debian");
  await openContainers(storageFolder).close();
  const containers = openContainers(storageFolder);
  let isKept = false;
  try {
    await buildImage(containers, imageFolder);
    say("built");
    if (what === "compose") await testCompose(containers, imageFolder, say);
    if (what === "test") runTests();
    isKept = what === "build";
  } finally {
    if (!isKept) await containers.close();
  }
}

function runTests(): void {
  const words = ["--test", "deploy/image/image.test.ts"];
  const { status } = spawnSync(process.execPath, words, { cwd: root, stdio: "inherit" });
  process.exitCode = status ?? 1;
}

function isMissing(program: string): boolean {
  return spawnSync(program, ["--version"]).error !== undefined;
}

/** Where something is missing it may be left out, but not in CI. */
function skip(reason: string): void {
  say(`there is no image: ${reason}`);
  if (process.env["CI"] === "true") process.exitCode = 1;
}

function say(line: string): void {
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(`[${seconds.padStart(4)} s] ${line}`);
}

function fail(): void {
  console.error("Write: npm run image -- build, or test, or compose, or sbom NAME");
  process.exitCode = 2;
}
