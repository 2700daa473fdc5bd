import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describeMissing, type Programs } from "../../tools/missing-programs.ts";
import type { Containers } from "./containers.ts";

export const root = resolve(import.meta.dirname, "../..");
export const baseName = "docker.io/library/node:24-bookworm-slim";
export const imageName = "localhost/pennyblack:latest";
export const imageFolder = join(root, ".pennyblack/image");
export const storageFolder = join(imageFolder, "containers");

const standInFolder = join(import.meta.dirname, "stand-in");
const buildFlags = ["build", "--format", "docker", "--pull=never", "--isolation", "chroot"];

/** Returns the reason the image cannot be built on this machine, or undefined. */
export function missingPrerequisite(morePrograms: Programs = {}): string | undefined {
  if (process.getuid?.() !== 0) return "requires root";
  return describeMissing({ ...imagePrograms, ...morePrograms });
}

export const imagePrograms = { podman: "podman", buildah: "buildah", runc: "runc", mmdebstrap: "mmdebstrap" };

/**
 * Builds the unmodified Dockerfile of the repository, or of a copy, on a stand-in base image. Creates `folder`/debian.tar if
 * missing.
 */
export async function buildImage({ buildah }: Containers, folder: string, tree = root): Promise<void> {
  await buildBase({ buildah }, folder);
  // Reuse the npm cache.
  const cache = execFileSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).trim();
  const volume = `${cache}:${join("/root", ".npm")}`;
  await buildah(...buildFlags, "--volume", volume, "--timestamp", String(commitTime()), "--tag", imageName, tree);
}

/** SOURCE_DATE_EPOCH as defined by reproducible-builds.org: the time of all files and of the image, in seconds. */
function commitTime(): number {
  const time =
    process.env["SOURCE_DATE_EPOCH"] ??
    execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" });
  return Number(time);
}

async function buildBase({ buildah }: Pick<Containers, "buildah">, folder: string): Promise<void> {
  makeDebian(join(folder, "debian.tar"));
  const contexts = { node: dirname(process.execPath), npm: npmFolder() };
  await buildah(
    ...buildFlags,
    ...Object.entries(contexts).flatMap(([name, path]) => ["--build-context", `${name}=${path}`]),
    "--file",
    join(standInFolder, "node.Containerfile"),
    "--tag",
    baseName,
    folder,
  );
}

/** CI creates the archive in the background. */
export function makeDebian(tar: string, ...packages: string[]): void {
  if (existsSync(tar)) return;
  execFileSync(join(standInFolder, "make-debian.sh"), [tar, ...packages], { stdio: ["ignore", "ignore", "inherit"] });
}

/** The npm that runs this script. */
function npmFolder(): string {
  const script = process.env["npm_execpath"];
  if (script === undefined) throw new Error("Run this with npm run.");
  return dirname(dirname(realpathSync(script)));
}
