import type { ShapeProblem } from "../http/encode-problem.ts";
import { brave } from "./brave.ts";
import type { Dialect } from "./dialect.ts";
import { exa } from "./exa.ts";
import { openWebui } from "./open-webui.ts";
import { perplexity } from "./perplexity.ts";
import { searxng } from "./searxng.ts";
import { serper } from "./serper.ts";
import { tavily } from "./tavily.ts";

/** All dialects. To add one, write its file, add it here and add its fixtures. */
export const dialects: readonly Dialect[] = [tavily, perplexity, exa, brave, serper, searxng, openWebui];

const byName = new Map(dialects.map((dialect) => [dialect.name, dialect]));

/** How errors at this path are written, also those of paths that do not exist. Undefined outside /compat/. */
export function findProblemShape(path: string): ShapeProblem | undefined {
  if (!path.startsWith("/compat/")) return undefined;
  const dialect = byName.get(path.split("/", 3)[2] ?? "");
  return dialect && ((problem) => ({ ...problem, ...dialect.toError(problem) }));
}
