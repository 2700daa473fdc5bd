import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildImage, imageFolder, imageName as localName } from "../../deploy/image/build-image.ts";
import { openContainers } from "../../deploy/image/containers.ts";
import { readSbom } from "../../deploy/image/read-sbom.ts";
import { imageName, releaseVersion, root } from "./products.ts";

/** Builds the image of a copy of the repository without a registry, and saves it and its SBOM. */
export async function saveImage(tree: string, out: string): Promise<void> {
  mkdirSync(out, { recursive: true });
  const version = releaseVersion(tree);
  const containers = openContainers(join(root, ".pennyblack/release/containers"));
  try {
    await buildImage(containers, imageFolder, tree);
    const sbom = await readSbom(containers.podman, localName);
    const { metadata } = JSON.parse(sbom) as { metadata: { component: { version: string } } };
    if (metadata.component.version !== version) {
      throw new Error(`The image has version ${metadata.component.version} instead of ${version}`);
    }
    writeFileSync(join(out, `image-${version}.cdx.json`), `${sbom}\n`);
    const archive = join(out, `${imageName}-image-${version}.tar`);
    await containers.podman("save", "--quiet", "--format", "oci-archive", "--output", archive, localName);
  } finally {
    await containers.close();
  }
}
