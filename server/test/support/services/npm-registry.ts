import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { json } from "node:stream/consumers";

// An npm registry on loopback for packages that a test publishes. It also serves the installed third-party packages, so that
// npm can install the dependencies of a published package without a network.

export interface NpmRegistry {
  url: string;
  /** The names and versions that were published, in order. */
  published: string[];
  close(): Promise<void>;
}

interface Version {
  manifest: { name: string; version: string };
  tarball: Buffer;
}

interface Answer {
  status: number;
  body: object;
}

interface Publication {
  name: string;
  versions: Record<string, Version["manifest"]>;
  _attachments: Record<string, { data: string }>;
}

const root = resolve(import.meta.dirname, "../../../..");
const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, object>;
};

export async function startNpmRegistry(): Promise<NpmRegistry> {
  const packages = new Map<string, Version[]>();
  const published: string[] = [];
  const listener = createServer((request, response) => {
    const path = decodeURIComponent(request.url?.slice(1) ?? "");
    const answered = request.method === "PUT" ? accept(request) : Promise.resolve(find(path));
    answered.then(
      ({ status, body }) => response.writeHead(status).end(Buffer.isBuffer(body) ? body : JSON.stringify(body)),
      () => response.destroy(),
    );
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;

  async function accept(request: IncomingMessage): Promise<Answer> {
    const { name, versions, _attachments } = (await json(request)) as Publication;
    const [manifest] = Object.values(versions);
    const [attachment] = Object.values(_attachments);
    if (manifest === undefined || attachment === undefined || packages.has(name)) return { status: 409, body: {} };
    packages.set(name, [{ manifest, tarball: Buffer.from(attachment.data, "base64") }]);
    published.push(`${name} ${manifest.version}`);
    return { status: 201, body: {} };
  }

  function find(path: string): Answer {
    const [, name = path, version] = /^tarballs\/(.*)\/([^/]+)\.tgz$/.exec(path) ?? [];
    const found = packages.get(name) ?? packInstalled(name);
    if (found.length === 0) return { status: 404, body: {} };
    packages.set(name, found);
    if (version === undefined) return { status: 200, body: describe(url, name, found) };
    return { status: 200, body: found.find(({ manifest }) => manifest.version === version)?.tarball ?? {} };
  }

  return {
    url,
    published,
    async close() {
      listener.closeAllConnections();
      listener.close();
      await once(listener, "close");
    },
  };
}

/** The metadata that npm requests before it downloads a package. */
function describe(url: string, name: string, found: readonly Version[]): object {
  const versions = found.map(({ manifest, tarball }) => {
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const dist = { tarball: `${url}/tarballs/${name}/${manifest.version}.tgz`, integrity };
    return [manifest.version, { ...manifest, dist }];
  });
  return {
    name,
    "dist-tags": { latest: found[0]?.manifest.version },
    versions: Object.fromEntries(versions) as object,
  };
}

/** Every installed version of a package. Our own packages are not served this way: they must be published. */
function packInstalled(name: string): Version[] {
  const folders = Object.keys(locked.packages)
    .filter((path) => path.endsWith(`node_modules/${name}`) && !name.includes("pennyblack"))
    .map((path) => join(root, path))
    .filter((folder) => existsSync(join(folder, "package.json")));
  return folders.map((folder) => ({
    manifest: JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Version["manifest"],
    tarball: execFileSync(
      "tar",
      ["-cz", "--exclude=./node_modules", "--transform=s,^\\.,package,", "-C", folder, "."],
      {
        maxBuffer: 1 << 28,
      },
    ),
  }));
}
