import type { Run } from "./containers.ts";
import { createSbom, type ImageContents } from "./create-sbom.ts";

/** Creates an SBOM from the package records inside an image. */
export async function readSbom(podman: Run, image: string): Promise<string> {
  const script = `
    const { existsSync, readFileSync } = require("node:fs");
    const [npmRecord, dpkgStatus] = ["node_modules/.package-lock.json", "/var/lib/dpkg/status"].map((path) => readFileSync(path, "utf8"));
    // The Dockerfile removes type packages after npm has recorded them.
    const packages = Object.entries(JSON.parse(npmRecord).packages).filter(([path]) => existsSync(path));
    const npmLock = JSON.stringify({ packages: Object.fromEntries(packages) });
    const { version } = JSON.parse(readFileSync("server/package.json", "utf8"));
    console.log(JSON.stringify({ version, npmLock, dpkgStatus, nodeVersion: process.versions.node }));`;
  const args = ["run", "--rm", "--network=none", "--read-only", image, "-e", script];
  return createSbom(JSON.parse(await podman(...args)) as ImageContents);
}
