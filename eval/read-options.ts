import { join } from "node:path";
import { parseArgs } from "node:util";

export interface EvalOptions {
  credibilityFile: string;
  navigationalFile: string;
  domainsFile: string | undefined;
  /** Queries with relevant pages. Undefined: eval/relevance. */
  relevanceFolder: string | undefined;
  /** Whether to measure with the hand-written queries that are held back instead of the others. */
  isHeldBack: boolean;
  /** Whether to compare the guards that were considered. */
  hasCandidates: boolean;
  /** Output path of the chart, if one is requested. */
  chartFile: string | undefined;
}

export class OptionError extends Error {}

export const help = `npm run eval [-- options]

Compares the credibility and the relevance of results ranked by the lenses with the upstream order and other baselines, and
checks that navigational queries keep the official site on top. The last line of output is JSON.

  --credibility FILE    rated queries: [{query, topic, category, results: [{rank, url, rating}]}]
  --navigational FILE   navigational queries: [{query, results: [{rank, url}]}]; the first result is the official site
  --domains FILE        also compare tiers with reliability labels of domains:
                        {rated: [{domain, score}], labelled: [{domain, isReliable}]}
  --relevance FOLDER    queries with relevant pages, as in eval/relevance, which is the default
  --held-back           measure relevance with the half of the hand-written queries that is held back
  --candidates          also compare the guards that were considered for relevance, alone and in combination
  --chart FILE          write a chart as SVG`;

// Outside the repository, because we may use the data but not publish it.
const dataFolder = join(import.meta.dirname, "..", "..", "shared", "eval");

export function readOptions(args: string[]): EvalOptions | "help" {
  const values = parse(args);
  if (values.help) return "help";
  return {
    credibilityFile: values.credibility ?? join(dataFolder, "credibility-dev.json"),
    navigationalFile: values.navigational ?? join(dataFolder, "navigational-dev.json"),
    domainsFile: values.domains,
    relevanceFolder: values.relevance,
    isHeldBack: values["held-back"],
    hasCandidates: values.candidates,
    chartFile: values.chart,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        credibility: { type: "string" },
        navigational: { type: "string" },
        domains: { type: "string" },
        relevance: { type: "string" },
        "held-back": { type: "boolean", default: false },
        candidates: { type: "boolean", default: false },
        chart: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    if (error instanceof TypeError) throw new OptionError(error.message);
    throw error;
  }
}
