export interface ImageContents {
  version: string;
  /** node_modules/.package-lock.json, npm's record of installed packages. */
  npmLock: string;
  /** /var/lib/dpkg/status */
  dpkgStatus: string;
  nodeVersion: string;
}

interface Component {
  type: "library" | "application";
  name: string;
  version: string;
  purl: string;
  licenses?: { expression: string }[];
  hashes?: { alg: string; content: string }[];
}

/** Creates an SBOM in CycloneDX 1.6 format from the package records of an image. */
export function createSbom({ version, npmLock, dpkgStatus, nodeVersion }: ImageContents): string {
  const node: Component = {
    type: "application",
    name: "node",
    version: nodeVersion,
    purl: `pkg:generic/node@${nodeVersion}`,
  };
  const components = [node, ...npmComponents(npmLock), ...debianComponents(dpkgStatus)];
  return JSON.stringify(
    {
      bomFormat: "CycloneDX",
      specVersion: "1.6",
      version: 1,
      metadata: { component: { type: "container", name: "pennyblack", version } },
      components: components.toSorted((left, right) => (left.purl < right.purl ? -1 : 1)),
    },
    undefined,
    2,
  );
}

interface LockedPackage {
  name?: string;
  version?: string;
  license?: string;
  integrity?: string;
  link?: boolean;
}

function npmComponents(npmLock: string): Component[] {
  const { packages } = JSON.parse(npmLock) as { packages: Record<string, LockedPackage> };
  return Object.entries(packages).flatMap(([path, { name, version, license, integrity, link }]): Component[] => {
    const packageName = name ?? path.split("node_modules/").at(-1) ?? path;
    if (link || version === undefined || !path.includes("node_modules/")) return [];
    const [algorithm, base64] = integrity?.split("-") ?? [];
    return [
      {
        type: "library",
        name: packageName,
        version,
        purl: `pkg:npm/${packageName.replace("@", "%40")}@${version}`,
        ...(license && { licenses: [{ expression: license }] }),
        ...(algorithm === "sha512" &&
          base64 && { hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }] }),
      },
    ];
  });
}

function debianComponents(dpkgStatus: string): Component[] {
  return dpkgStatus
    .split("\n\n")
    .filter((paragraph) => /^Status: install ok installed$/m.test(paragraph))
    .map((paragraph) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(paragraph)?.[1] ?? "";
      const [name, version] = [field("Package"), field("Version")];
      const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${field("Architecture")}&distro=debian-12`;
      return { type: "library", name, version, purl };
    });
}
