import { type Entry, PennyblackError, type SearchDetails } from "@pennyblack/sdk";
import type { Command } from "commander";
import { addExamples } from "./add-examples.ts";
import { addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { describeOutcome } from "./describe-outcome.ts";
import { formatRank } from "./format-rank.ts";
import { readRanking, type SavedRanking } from "./saved-rankings.ts";
import { formatTime, sanitize, type Terminal, table, wrap } from "./terminal.ts";

export function addWhyCommand(program: Command, context: Context): void {
  const why = program
    .command("why")
    .argument("<request-id>", "the Request-Id of a search or of a refused request")
    .description("explain a request: what happened, what it cost, and why each result has its rank");
  addOptions(why).action((requestId: string, options: CommonOptions) => explainSearch(requestId, options, context));
  addExamples(why, ["pennyblack why 019a8e7c-31f5-7cc2-8a56-3f1c9d2b7e10"]);
}

async function explainSearch(requestId: string, options: CommonOptions, context: Context): Promise<void> {
  const { print, printInfo, terminal } = context;
  const ranking = readRanking(context.rankingsFolder, requestId);
  const search = await readSearch(requestId, options, context).catch((error: unknown) => {
    // The ranking is available without a management key or a connection.
    if (ranking && !options.json) print(`${formatRanking(ranking, terminal)}\n`);
    if (error instanceof PennyblackError && error.is("not_found") && !options.json) printInfo(unknownSearch);
    throw error;
  });
  if (options.json) return print(JSON.stringify({ ...search, ranking: ranking ?? null }));
  print(table([...formatSearch(search), ...formatCost(search)]));
  if (search.outcome === "ok") print(`\n${ranking ? formatRanking(ranking, terminal) : missingRanking}`);
}

// Asynchronous, so that missing credentials are reported like a failed request.
async function readSearch(requestId: string, options: CommonOptions, { connect }: Context): Promise<SearchDetails> {
  return connect("manage", options).searches.get(requestId);
}

const unknownSearch = `No search of this wallet has this ID, so the wallet was not charged for it. Refused requests are listed for 7 days,
at most 20 per key and minute.`;

const missingRanking = `The ranking is not saved on this computer: the server does not store results, and the CLI saves those of
its last 50 searches. To see a ranking, repeat the search with --explain. A live search costs 0.01 USD.`;

function formatSearch(search: SearchDetails): string[][] {
  const { request_id, kind, outcome, at, ms, key_name, key_id, mode, run, category, transport } = search;
  const details = {
    search: [
      ["Duration", ms === null ? "not finished" : `${ms} ms`],
      ["Category", category === null ? "none" : sanitize(category)],
    ],
    refused: [["Sent to", describeTransport(transport)]],
    replayed: [["Sent to", describeTransport(transport)]],
  };
  return [
    ["Request", request_id],
    ["Outcome", describeOutcome({ kind, outcome: sanitize(outcome) })],
    ["Sent", formatTime(at)],
    ["Key", `${key_name === null ? "" : `${sanitize(key_name)}, `}${key_id} (${mode})`],
    ["Run", run === null ? "none" : sanitize(run)],
    ...details[kind],
  ];
}

function describeTransport(transport: SearchDetails["transport"]): string {
  const names = { http: "/v1/search", compat: "a compatibility endpoint", mcp: "/mcp", playground: "the playground" };
  return transport === null ? "unknown" : names[transport];
}

function formatCost({ charged, mode, entries }: SearchDetails): string[][] {
  const free = mode === "test" ? " (test keys are free)" : "";
  return [["Charged", `${charged} USD${free}`], ...entries.toReversed().map(formatEntry)];
}

function formatEntry({ kind, amount, created_at }: Entry): string[] {
  return ["", `${kind} ${amount} USD on ${formatTime(created_at)}`];
}

function formatRanking({ lens, results, explanation }: SavedRanking, { paint, width }: Terminal): string {
  const sources = results.map(({ url }) => (URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, "") : url));
  const blocks = results.map(({ title, url }, index) => {
    const found = explanation.find(({ position }) => position === index + 1);
    const reason = found ? formatRank(found, sources) : "The explanation of this result did not fit in the response.";
    const number = `${index + 1}.`.padEnd(4);
    return [
      number + paint("bold", sanitize(title)),
      `    ${paint("cyan", sanitize(url))}`,
      wrap(reason, width, "    "),
    ].join("\n");
  });
  const heading = `Ranking${lens === undefined ? "" : ` by the lens ${sanitize(lens)}`}:`;
  return [heading, ...(blocks.length === 0 ? ["No results."] : blocks)].join("\n\n");
}
