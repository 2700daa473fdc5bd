import type { Category } from "@pennyblack/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions, parseInteger, parseUsd } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { formatExplanation, formatMeta, formatResults } from "./format-results.ts";
import { saveRanking } from "./saved-rankings.ts";
import { UsageError } from "./usage-error.ts";

interface SearchOptions extends CommonOptions {
  n?: number;
  category?: Category;
  run?: string;
  max?: string;
  for?: string;
  wait?: number;
  idempotencyKey?: string;
  explain?: boolean;
  registries: boolean;
  history: boolean;
}

export function addSearchCommand(program: Command, context: Context): void {
  const command = program
    .command("search <query...>")
    .description("search the web (0.01 USD per search)")
    .option("-n <count>", "number of results, 1 to 20 (default: 10)", parseInteger)
    .addOption(
      new Option("--category <name>", "sites to prefer").choices(["programming", "research", "gov", "business"]),
    )
    .option("--run <id>", "share a budget between all searches with this id (requires --max)", parseRunId)
    .option("--max <usd>", "budget of the run in USD, such as 0.50", parseUsd)
    .option("--for <id>", "your ID for the end user on whose behalf you search", parseEndUser)
    .option("--wait <seconds>", "deadline in seconds (1 to 9), after which the search fails and is free", parseWait)
    .option("--idempotency-key <key>", "make the search safe to repeat without paying twice", parseIdempotencyKey)
    .option("--explain", "explain the ranking of each result")
    .option("--no-registries", "rank without published lists of domains")
    .option("--no-history", "do not save the ranking on this computer for `pennyblack why`");
  addOptions(command).action((words: string[], options: SearchOptions) => search(words.join(" "), options, context));
  addExamples(command, [
    'pennyblack search "postgresql advisory locks" -n 5 --category programming',
    "pennyblack search eu ai act article 6 --json | jq -r '.results[].url'",
    "pennyblack search river flood warning --run nightly --max 0.50 --explain",
  ]);
}

async function search(query: string, options: SearchOptions, context: Context): Promise<void> {
  const { n, category, run, max, for: endUser, wait, idempotencyKey, explain, json } = options;
  if ((run === undefined) !== (max === undefined)) throw new UsageError("--run and --max must be used together.");
  const isSaved = options.history && !context.env["PENNYBLACK_NO_HISTORY"];
  const response = await context.connect("search", options).search(query, {
    ...(n !== undefined && { n }),
    ...(category && { category }),
    ...(run !== undefined && max !== undefined && { run: { id: run, max } }),
    ...(endUser !== undefined && { for: endUser }),
    ...(wait !== undefined && { wait }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...((explain || isSaved) && { explain: true }),
    ...(!options.registries && { registries: false }),
  });
  if (isSaved) saveRanking(context.rankingsFolder, response);
  const answer = explain ? response : { ...response, meta: { ...response.meta, explanation: undefined } };
  if (json) return context.print(JSON.stringify(answer));
  context.print(formatResults(answer, context.terminal));
  if (explain) context.print(formatExplanation(answer, context.terminal));
  context.printInfo(`\n${formatMeta(answer, context.terminal)}`);
}

function parseWait(text: string): number {
  if (!/^[1-9]$/.test(text)) throw new InvalidArgumentError("Expected a whole number from 1 to 9.");
  return Number(text);
}

function parseRunId(text: string): string {
  if (!/^[\w.:@/-]{1,128}$/.test(text)) throw new InvalidArgumentError("Use only letters, digits and _.:@/-");
  return text;
}

function parseEndUser(text: string): string {
  if (!/^[\w.:@/+=|-]{1,64}$/.test(text)) {
    throw new InvalidArgumentError("Use 1 to 64 letters, digits or any of _.:@/+=|-");
  }
  return text;
}

function parseIdempotencyKey(text: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(text)) throw new InvalidArgumentError("Use 1 to 255 printable ASCII characters.");
  return text;
}
