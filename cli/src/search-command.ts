import type { Category } from "@pennyblack/sdk";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Bench, CommonOptions } from "./bench.ts";
import { readUsd, readWhole, withAccess } from "./common-options.ts";
import { showExplanation, showMeta, showResults } from "./show-results.ts";
import { UsageError } from "./usage-error.ts";

interface SearchOptions extends CommonOptions {
  n?: number;
  category?: Category;
  run?: string;
  max?: string;
  wait?: number;
  idempotencyKey?: string;
  explain?: boolean;
}

export function addSearchCommand(program: Command, bench: Bench): void {
  const command = program
    .command("search <query...>")
    .description("search the web, for 0.01 USD")
    .option("-n <count>", "how many results, 1 to 20 (10 if left out)", readWhole)
    .addOption(
      new Option("--category <name>", "whose pages to prefer").choices(["programming", "research", "gov", "business"]),
    )
    .option("--run <id>", "a budget that all searches with this id share; needs --max", readRunId)
    .option("--max <usd>", "what the run may spend in all, such as 0.50", readUsd)
    .option("--wait <seconds>", "give up after this long, 1 to 9, charging nothing", readWait)
    .option("--idempotency-key <key>", "name this search: the same key and query never pay twice", readIdempotencyKey)
    .option("--explain", "say why each result stands where it does");
  withAccess(command).action((words: string[], options: SearchOptions) => search(words.join(" "), options, bench));
}

async function search(query: string, options: SearchOptions, bench: Bench): Promise<void> {
  const { n, category, run, max, wait, idempotencyKey, explain, json } = options;
  if ((run === undefined) !== (max === undefined)) throw new UsageError("--run and --max belong together.");
  const answer = await bench.connect("search", options).search(query, {
    ...(n !== undefined && { n }),
    ...(category && { category }),
    ...(run !== undefined && max !== undefined && { run: { id: run, max } }),
    ...(wait !== undefined && { wait }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(explain && { explain }),
  });
  if (json) return bench.print(JSON.stringify(answer));
  bench.print(showResults(answer, bench.terminal));
  if (explain) bench.print(showExplanation(answer));
  bench.remark(`\n${showMeta(answer, bench.terminal)}`);
}

function readWait(text: string): number {
  if (!/^[1-9]$/.test(text)) throw new InvalidArgumentError("It is a whole number from 1 to 9.");
  return Number(text);
}

function readRunId(text: string): string {
  if (!/^[\w.:@/-]{1,128}$/.test(text)) throw new InvalidArgumentError("It is letters, digits and any of _.:@/-");
  return text;
}

function readIdempotencyKey(text: string): string {
  if (!/^[\x20-\x7e]{1,255}$/.test(text)) throw new InvalidArgumentError("It is 1 to 255 printable ASCII characters.");
  return text;
}
