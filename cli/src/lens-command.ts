import type { LensInspection } from "@pennyblack/sdk";
import type { Command } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { sanitize, table } from "./terminal.ts";

interface LensOptions extends CommonOptions {
  lens: string;
}

export function addLensCommand(program: Command, context: Context): void {
  const lens = program
    .command("lens")
    .argument("<url>", "the URL of a page, or a domain")
    .description("show the tier of a page in the ranking, the rule or list behind it, and how to object")
    .option("--lens <name>", "a category, or base for searches without one", "base");
  addOptions(lens).action((url: string, options: LensOptions) => inspect(url, options, context));
  addExamples(lens, [
    "pennyblack lens https://www.postgresql.org/docs/",
    "pennyblack lens example.com --lens research --json",
  ]);
}

async function inspect(url: string, options: LensOptions, { connect, print }: Context): Promise<void> {
  const inspection = await connect("search", options).lenses.inspect(options.lens, url);
  print(options.json ? JSON.stringify(inspection) : table(formatInspection(inspection)));
}

function formatInspection({ lens, host, tier, reason, rule, registry, objection_url }: LensInspection): string[][] {
  return [
    ["Lens", lens],
    ["Host", sanitize(host)],
    ["Tier", tier],
    ["Reason", sanitize(reason).replaceAll("-", " ")],
    ...(rule === null ? [] : [["Rule", sanitize(rule)]]),
    ...(registry === null
      ? []
      : [
          ["List", `${sanitize(registry.title)} (${registry.retrieved})`],
          ["Source", sanitize(registry.source)],
        ]),
    ["Object", sanitize(objection_url)],
  ];
}
