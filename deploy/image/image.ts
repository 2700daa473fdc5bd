// npm run image -- test             build the image and run it: a paid search, and a stop under load
// npm run image -- compose          deploy/compose.yaml over that image, and stand-ins for the others, up to a paid search
// npm run image -- sbom [NAME]      what is in an image of this machine's podman or docker, as CycloneDX
//
// "test" and "compose" are for machines that can reach Debian and npm but no registry of images: they build the Dockerfile
// as it is, on a stand-in for its base, in a storage of its own that is gone afterwards. Where a registry can be reached,
// "docker build ." does. They need root and Debian's podman, buildah, runc and mmdebstrap; "compose" also podman-compose,
// netavark and aardvark-dns.

import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildImage, imageName, root } from "./build-image.ts";
import { openContainers } from "./containers.ts";
import { readSbom } from "./read-sbom.ts";
import { testCompose } from "./test-compose.ts";
import { testImage } from "./test-image.ts";

const [command, name = "pennyblack"] = process.argv.slice(2);
const folder = join(root, ".pennyblack/image");
const startedMs = performance.now();

if (command === "sbom") await printSbom();
else if (command === "test" || command === "compose") await test(command);
else fail();

async function printSbom(): Promise<void> {
  const engine = isMissing("podman") ? "docker" : "podman";
  console.log(await readSbom(async (...words) => execFileSync(engine, words, { encoding: "utf8" }), name));
}

async function test(what: "test" | "compose"): Promise<void> {
  const programs = ["podman", "buildah", "runc", "mmdebstrap", ...(what === "compose" ? ["podman-compose"] : [])];
  const missing = programs.filter(isMissing);
  if (missing.length > 0) return skip(`${missing.join(", ")} must be installed`);
  if (process.getuid?.() !== 0) return skip("only root can make the file system of another Debian");
  const containers = openContainers(join(folder, "containers"));
  try {
    await buildImage(containers, folder);
    say("built");
    if (what === "compose") return await testCompose(containers, folder, say);
    await testImage(containers, say);
    const { components } = JSON.parse(await readSbom(containers.podman, imageName)) as { components: unknown[] };
    say(`the SBOM lists ${components.length} packages`);
  } finally {
    await containers.close();
  }
}

function isMissing(program: string): boolean {
  return spawnSync(program, ["--version"]).error !== undefined;
}

/** Where something is missing it may be left out, but not in CI. */
function skip(reason: string): void {
  say(`the image is not tested: ${reason}`);
  if (process.env["CI"] === "true") process.exitCode = 1;
}

function say(line: string): void {
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  console.log(`[${seconds.padStart(4)} s] ${line}`);
}

function fail(): void {
  console.error("Write: npm run image -- test, or compose, or sbom NAME");
  process.exitCode = 2;
}
