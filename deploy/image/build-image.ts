import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Containers } from "./containers.ts";

export const root = resolve(import.meta.dirname, "../..");
export const baseName = "docker.io/library/node:24-bookworm-slim";
export const imageName = "localhost/pennyblack:latest";
export const imageFolder = join(root, ".pennyblack/image");
export const storageFolder = join(imageFolder, "containers");

const standIn = join(import.meta.dirname, "stand-in");
const unchanged = ["build", "--format", "docker", "--pull=never", "--isolation", "chroot"];

/** The Dockerfile as it is, on a stand-in for its base. `folder` has debian.tar, or gets it. */
export async function buildImage({ buildah }: Containers, folder: string): Promise<void> {
  await buildBase({ buildah }, folder);
  // What npm has fetched once it does not fetch again.
  const cache = execFileSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).trim();
  await buildah(...unchanged, "--volume", `${cache}:${join("/root", ".npm")}`, "--tag", imageName, root);
}

async function buildBase({ buildah }: Pick<Containers, "buildah">, folder: string): Promise<void> {
  makeDebian(join(folder, "debian.tar"));
  const contexts = { node: dirname(process.execPath), npm: npmFolder() };
  await buildah(
    ...unchanged,
    ...Object.entries(contexts).flatMap(([name, path]) => ["--build-context", `${name}=${path}`]),
    "--file",
    join(standIn, "node.Containerfile"),
    "--tag",
    baseName,
    folder,
  );
}

/** CI makes it beside other things. */
export function makeDebian(tar: string, ...packages: string[]): void {
  if (existsSync(tar)) return;
  execFileSync(join(standIn, "make-debian.sh"), [tar, ...packages], { stdio: ["ignore", "ignore", "inherit"] });
}

/** The npm that runs us. */
function npmFolder(): string {
  const script = process.env["npm_execpath"];
  if (script === undefined) throw new Error("Start this with npm run.");
  return dirname(dirname(realpathSync(script)));
}
