// Everything in a release has one version. Changesets raises it in the package.json files; the other places that contain it
// are listed here. `npm run text` fails if two of them differ.

type Files = ReadonlyMap<string, string>;

const lockFile = "package-lock.json";
const sdk = "@pennyblack/sdk";

const number = String.raw`\d+\.\d+\.\d+(?:-[\w.]+)?`;
const manifest = [`"version": "#"`, `"${sdk}": "#"`];

/** The text around the version in each file, with # for the version. */
const places: Record<string, string[]> = {
  "server/package.json": manifest,
  "package.json": manifest,
  "console/package.json": manifest,
  "docs/package.json": manifest,
  "sdk/package.json": manifest,
  "cli/package.json": manifest,
  "mcp/package.json": manifest,
  "ai-sdk/package.json": manifest,
  "overspend/package.json": manifest,
  "server/src/lib/version.ts": [`version = "#"`],
  "sdk/src/settings.ts": [`version = "#"`],
  "cli/src/create-program.ts": [`.version("#")`],
  "clients/python/src/pennyblack/_version.py": [`__version__ = "#"`],
  "mcp/server.json": [`"version": "#"`],
  "deploy/helm/pennyblack/Chart.yaml": [`version: #`, `appVersion: "#"`],
  "deploy/helm/pennyblack/values.yaml": [`tag: "#"`],
  "openapi.json": [`"version": "#"`],
};

export const versionFiles = [...Object.keys(places), lockFile];

/** Reports the places whose version differs from the one in server/package.json, and those without a version. */
export function versionDifferences(files: Files): string[] {
  const source = files.get("server/package.json");
  if (source === undefined) return [];
  const { version } = JSON.parse(source) as { version: string };
  return [...versionsByFile(files)].flatMap(([file, found]) => [
    ...(found.length === 0 ? [`${file}: contains no version; see tools/release/versions.ts`] : []),
    ...found
      .filter((other) => other !== version)
      .map((other) => `${file}: version ${other}, but server/package.json has ${version}`),
  ]);
}

/** The text of every file that contains the version, with another version. */
export function withVersion(files: Files, version: string): Map<string, string> {
  const texts = Object.keys(places).map((file): [string, string] => [
    file,
    (files.get(file) ?? "").replaceAll(pattern(file), version),
  ]);
  return new Map([...texts, [lockFile, lockWithVersion(files.get(lockFile) ?? "", version)]]);
}

function versionsByFile(files: Files): Map<string, string[]> {
  const found = Object.keys(places).map((file): [string, string[]] => [
    file,
    [...(files.get(file) ?? "").matchAll(pattern(file))].map(([version]) => version),
  ]);
  const locked = lockedPackages(JSON.parse(files.get(lockFile) ?? "{}") as Lock);
  const versions = locked.flatMap((entry) => [
    entry.version ?? "missing",
    ...sdkDependencies(entry).map((dependencies) => dependencies[sdk] ?? ""),
  ]);
  return new Map([...found, [lockFile, versions]]);
}

function pattern(file: string): RegExp {
  const choices = (places[file] ?? []).map((place) => {
    const [before = "", after = ""] = place.split("#").map((text) => RegExp.escape(text));
    return `(?<=${before})${number}(?=${after})`;
  });
  return new RegExp(choices.join("|"), "g");
}

interface LockedPackage {
  version?: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

interface Lock {
  packages?: Record<string, LockedPackage>;
}

/** The entries of our own packages: the root and the workspaces. */
function lockedPackages({ packages = {} }: Lock): LockedPackage[] {
  return Object.entries(packages)
    .filter(([path]) => !path.includes("node_modules/"))
    .map(([, entry]) => entry);
}

/** The lists of dependencies that contain the SDK. */
function sdkDependencies({ dependencies = {}, devDependencies = {} }: LockedPackage): Record<string, string>[] {
  return [dependencies, devDependencies].filter((list) => sdk in list);
}

function lockWithVersion(text: string, version: string): string {
  const lock = JSON.parse(text) as Lock & { version?: string };
  lock.version = version;
  for (const entry of lockedPackages(lock)) {
    entry.version = version;
    for (const dependencies of sdkDependencies(entry)) dependencies[sdk] = version;
  }
  return `${JSON.stringify(lock, undefined, 2)}\n`;
}
