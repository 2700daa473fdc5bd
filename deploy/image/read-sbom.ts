import { version } from "../../server/src/version.ts";
import type { Run } from "./containers.ts";
import { type ImageContents, writeSbom } from "./write-sbom.ts";

/** Asks an image for its own records of what was put into it. */
export async function readSbom(podman: Run, image: string): Promise<string> {
  const script = `
    const { readFileSync } = require("node:fs");
    const [npmLock, dpkgStatus] = ["node_modules/.package-lock.json", "/var/lib/dpkg/status"].map((path) => readFileSync(path, "utf8"));
    console.log(JSON.stringify({ npmLock, dpkgStatus, nodeVersion: process.versions.node }));`;
  const words = ["run", "--rm", "--network=none", "--read-only", image, "-e", script];
  const contents = JSON.parse(await podman(...words)) as Omit<ImageContents, "version">;
  return writeSbom({ version, ...contents });
}
