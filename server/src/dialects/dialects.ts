import type { ShapeProblem } from "../http/encode-problem.ts";
import { brave } from "./brave.ts";
import { type Dialect, groups } from "./dialect.ts";
import { exa } from "./exa.ts";
import { openWebui } from "./open-webui.ts";
import { perplexity } from "./perplexity.ts";
import { searxng } from "./searxng.ts";
import { serper } from "./serper.ts";
import { tavily } from "./tavily.ts";

export type { Compat } from "./derive-headers.ts";

/** All dialects. To add one, write its file, add it here and add its fixtures. */
export const dialects: readonly Dialect[] = [tavily, perplexity, exa, brave, serper, searxng, openWebui];

/** Groups of parameters that can be ignored by request. */
export const ignorableGroups: readonly string[] = Object.keys(groups);

/** Parameters that are ignored, or that are refused unless they are ignored by request. */
export const ignorableParameters: readonly string[] = [...new Set(dialects.flatMap(listIgnorable))];

function listIgnorable({ parameters }: Dialect): string[] {
  return Object.keys(parameters).filter((name) => {
    const parameter = parameters[name];
    if (parameter?.use === "refused") return parameter.group !== undefined;
    return parameter?.use === "ignored" || parameter?.use === "category" || parameter?.use === "domains";
  });
}

const byName = new Map(dialects.map((dialect) => [dialect.name, dialect]));

/** How errors at this path are written, including those for paths that do not exist. Undefined outside /compat/. */
export function findProblemShape(path: string): ShapeProblem | undefined {
  const dialect = findDialect(path);
  return dialect && ((problem) => ({ ...problem, ...dialect.toError(problem) }));
}

/** Explains why a path of a vendor's API has no route, because it is one of their other operations. Undefined outside /compat/. */
export function describeUnknownOperation(path: string, publicUrl: string): string | undefined {
  const dialect = findDialect(path);
  if (!dialect) return undefined;
  const { name, title, method } = dialect;
  const search = `\`${method} /compat/${name}${dialect.path}\``;
  return `Pennyblack does not have this operation of ${title}: it only searches, with ${search}. See ${publicUrl}/docs/compat/${name}`;
}

function findDialect(path: string): Dialect | undefined {
  return path.startsWith("/compat/") ? byName.get(path.split("/", 3)[2] ?? "") : undefined;
}
