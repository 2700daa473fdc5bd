import { chartName, imageName, type Manifest, pythonName } from "./release/products.ts";

type Files = ReadonlyMap<string, string>;

/**
 * Every package, image and chart of ours that the docs, the examples and the product mention must be one that a release
 * produces.
 */
export function unknownPackageNames(files: Files): string[] {
  const published = npmNames(files);
  if (published.size === 0) return [];
  const known: Record<Kind, ReadonlySet<string>> = {
    "npm package": published,
    "Python package": new Set([pythonName]),
    image: new Set([imageName]),
    chart: new Set([chartName]),
  };
  return [...files]
    .filter(([path]) => isForUsers(path))
    .flatMap(([path, text]) =>
      text.split("\n").flatMap((line, index) =>
        mentions(line)
          .filter(({ kind, name }) => !known[kind].has(name))
          .map(({ kind, name }) => `${path}:${index + 1}: no release produces the ${kind} ${name}`),
      ),
    );
}

type Kind = "npm package" | "Python package" | "image" | "chart";

/** Pages, examples, deployment files, and the code whose text users see. Decisions and changesets are for contributors. */
function isForUsers(path: string): boolean {
  if (/\.test\.tsx?$|^docs\/decisions\/|^\.changeset\//.test(path)) return false;
  return /\.md$|^(?:examples|deploy|server\/src|console\/src)\/|^mcp\/server\.json$/.test(path);
}

const npmCommand = /\b(?:npm (?:i|install|add|exec)|npx|pnpm (?:add|dlx)|yarn (?:add|dlx)|bun add|bunx)\b([^`|;&]*)/g;
const pipCommand = /\b(?:pip3?|pipx|uv) (?:install|add|pip install)\b([^`|;&]*)/g;
const imageCommand = /\b(?:docker|podman) (?:pull|run)\b([^`|;&]*)/g;

function mentions(line: string): { kind: Kind; name: string }[] {
  const scoped = [...line.matchAll(/@pennyblack\/[a-z0-9-]+/g)].map(([name]) => name);
  // A condition of package.json, which only our own tools use.
  const npm = [...scoped.filter((name) => name !== "@pennyblack/source"), ...ownNames(line, npmCommand)];
  const charts = [...line.matchAll(/\boci:\/\/[^\s`"')]*\/([\w-]*pennyblack[\w-]*)/g)].map(([, name = ""]) => name);
  const registries = /(?<!oci:\/\/)\b(?:ghcr|docker|quay)\.io\/[^\s`"')@:]*?([\w-]*pennyblack[\w-]*)(?=[\s`"')@:]|$)/g;
  const fields = /^\s*(?:- )?image: *["']?([\w-]*pennyblack[\w-]*)(?=[\s"':@]|$)/g;
  const images = [registries, fields].flatMap((pattern) => [...line.matchAll(pattern)].map(([, name = ""]) => name));
  return [
    ...[...new Set(npm)].map((name) => ({ kind: "npm package" as const, name })),
    ...ownNames(line, pipCommand).map((name) => ({ kind: "Python package" as const, name })),
    ...[...images, ...ownNames(line, imageCommand)].map((name) => ({ kind: "image" as const, name })),
    ...charts.map((name) => ({ kind: "chart" as const, name })),
  ];
}

/** The words of a command that name something of ours, without versions. Paths, flags and settings are not names. */
function ownNames(line: string, command: RegExp): string[] {
  const words = [...line.matchAll(command)].flatMap(([, rest = ""]) => rest.split(/\s+/));
  return words
    .map((word) => /^(@?[\w/-]*pennyblack[\w/-]*)(?:[@:=<>~[].*)?$/.exec(word)?.[1] ?? "")
    .filter((name) => name !== "" && !name.startsWith("-") && (name.startsWith("@") || !name.includes("/")));
}

function npmNames(files: Files): Set<string> {
  const { workspaces = [] } = JSON.parse(files.get("package.json") ?? "{}") as Manifest;
  const manifests = workspaces.map((folder) => JSON.parse(files.get(`${folder}/package.json`) ?? "{}") as Manifest);
  return new Set(manifests.filter((manifest) => manifest.private !== true).map(({ name }) => name));
}
