import { join } from "node:path";
import { parseArgs } from "node:util";

export interface EvalOptions {
  credibilityFile: string;
  navigationalFile: string;
  /** Where to draw the chart; without it nothing is written. */
  chartFile: string | undefined;
}

export class WrongOption extends Error {}

export const help = `npm run eval [-- options]

How credible the results are that the lenses put first, against the upstream's order and other baselines, and whether
the official site stays first when someone asks for it by name. The last line is JSON. Nothing is written unless asked.

  --credibility FILE    rated queries: [{query, topic, category, results: [{rank, url, rating}]}]
  --navigational FILE   queries for a site: [{query, results: [{rank, url}]}], of which the first is the official site
  --chart FILE          draw the figures there, as SVG`;

// Beside the repository, because the data may be read by us and not be published by us.
const dataFolder = join(import.meta.dirname, "..", "..", "shared", "eval");

export function readOptions(args: string[]): EvalOptions | "help" {
  const values = parse(args);
  if (values.help) return "help";
  return {
    credibilityFile: values.credibility ?? join(dataFolder, "credibility-dev.json"),
    navigationalFile: values.navigational ?? join(dataFolder, "navigational-dev.json"),
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
        chart: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    if (error instanceof TypeError) throw new WrongOption(error.message);
    throw error;
  }
}
