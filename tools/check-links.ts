import { posix } from "node:path";

type Files = ReadonlyMap<string, string>;

/**
 * Every link of a Markdown file within the repository leads to a file, and to a heading of it where it names one. A page
 * of the docs site leads only to pages of the site: the rest of the repository is not there.
 */
export function deadLinks(files: Files): string[] {
  const folders = new Set([...files.keys()].flatMap(foldersAbove));
  return [...files]
    .filter(([path]) => path.endsWith(".md"))
    .flatMap(([path, text]) =>
      linksOf(path, text).flatMap(({ line, link }) => {
        const fault = faultOf({ files, folders, path, link });
        return fault === undefined ? [] : [`${path}:${line}: the link to ${link} ${fault}`];
      }),
    );
}

interface Question {
  files: Files;
  folders: ReadonlySet<string>;
  path: string;
  link: string;
}

function faultOf({ files, folders, path, link }: Question): string | undefined {
  const [name = "", heading] = link.split("#");
  const target = name === "" ? path : posix.normalize(posix.join(posix.dirname(path), decodeURI(name)));
  const text = files.get(target);
  if (text === undefined && !folders.has(target.replace(/\/$/, ""))) return "leads nowhere";
  if (isOnSite(path) && !(text !== undefined && isOnSite(target))) return "leads out of the docs site";
  if (heading !== undefined && !headingsOf(text ?? "").includes(heading)) return "names no heading of that page";
  return undefined;
}

function isOnSite(path: string): boolean {
  return path.startsWith("docs/") && !path.startsWith("docs/decisions/");
}

/** Those without a scheme. The front matter of a page names others as the site does: from its root, without an ending. */
function linksOf(path: string, text: string): { line: number; link: string }[] {
  const prose = text.replaceAll(/^```.*?^```$|`[^`\n]*`/gms, (code) => code.replaceAll(/[^\n]/g, " "));
  const inText = prose.matchAll(/\]\(([^)\s]+)\)/g);
  const inFront = /^---\n.*?^---$/ms.exec(text)?.index === 0 ? text.matchAll(/^\s+link: \/(\S+)$/gm) : [];
  const back = "../".repeat(Math.max(0, path.split("/").length - 2));
  return [
    ...[...inText].map((match) => ({ at: match.index, link: match[1] ?? "" })),
    ...[...inFront].map((match) => ({ at: match.index, link: `${back}${match[1]}.md` })),
  ]
    .filter(({ link }) => !/^[a-z][a-z+.-]*:/i.test(link))
    .map(({ at, link }) => ({ line: text.slice(0, at).split("\n").length, link }));
}

/** As GitHub and the site name them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-"),
  );
}

function foldersAbove(path: string): string[] {
  const above = posix.dirname(path);
  return above === "." ? [] : [above, ...foldersAbove(above)];
}
