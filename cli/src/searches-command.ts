import type { ListSearchesOptions, Search, UnlistedRequests } from "@pennyblack/sdk";
import { type Command, Option } from "commander";
import { addExamples } from "./add-examples.ts";
import { addLimit, addOptions } from "./common-options.ts";
import type { CommonOptions, Context } from "./context.ts";
import { findKeyId } from "./find-key.ts";
import { takeItems } from "./take-items.ts";
import { formatTime, sanitize, table } from "./terminal.ts";

const filterNames = ["kind", "outcome", "mode", "run", "for", "category", "from", "to"] as const;

interface SearchesOptions extends CommonOptions, Pick<ListSearchesOptions, (typeof filterNames)[number]> {
  key?: string;
  limit: number;
}

// As the keys of an object, because the compiler then reports a missing kind.
const kinds: Record<NonNullable<ListSearchesOptions["kind"]>, true> = {
  search: true,
  refused: true,
  replayed: true,
  all: true,
};

export function addSearchesCommand(program: Command, context: Context): void {
  const searches = program
    .command("searches")
    .description("list searches, refused requests and replays, newest first")
    .addOption(
      new Option("--kind <kind>", "refused and replayed requests never reached the ledger and are free")
        .choices(Object.keys(kinds))
        .default("search"),
    )
    .option("--outcome <outcome>", "ok, failed, or a code such as run_budget_spent")
    .option("--key <key>", "only requests with this key (id or exact name)")
    .addOption(new Option("--mode <mode>", "only requests in this mode").choices(["live", "test"]))
    .option("--run <id>", "only requests of this run")
    .option("--for <id>", "only requests for this end user")
    .option("--category <name>", "only searches in this category, or none")
    .option("--from <time>", "start date or time, such as 2026-11-01")
    .option("--to <time>", "end date or time (exclusive)");
  addOptions(addLimit(searches)).action((options: SearchesOptions) => printSearches(options, context));
  addExamples(searches, [
    "pennyblack searches --outcome failed",
    "pennyblack searches --kind refused --run nightly",
    "pennyblack searches --kind all --key batch --from 2026-11-16T08:00:00Z --json",
  ]);
}

async function printSearches(options: SearchesOptions, { connect, print }: Context): Promise<void> {
  const { key, limit, json } = options;
  const client = connect("manage", options);
  const filter: ListSearchesOptions = Object.fromEntries(filterNames.map((name) => [name, options[name]]));
  if (key !== undefined) filter.keyId = await findKeyId(client, key);
  const { items: searches, unlisted } = await takeItems(
    (pageSize) => client.searches.list({ ...filter, limit: pageSize }),
    limit,
  );
  if (json) return print(JSON.stringify({ searches, unlisted }));
  const lines = searches.length === 0 ? ["None."] : [formatSearches(searches)];
  print([...lines, ...formatUnlisted(unlisted)].join("\n"));
}

function formatSearches(searches: readonly Search[]): string {
  const rows = searches.map(({ at, kind, mode, outcome, key_id, key_name, run, ms, charged, request_id }) => [
    formatTime(at),
    kind,
    mode,
    sanitize(outcome),
    sanitize(key_name ?? key_id),
    sanitize(run ?? ""),
    ms === null ? "" : String(ms),
    charged,
    request_id,
  ]);
  return table([["TIME", "KIND", "MODE", "OUTCOME", "KEY", "RUN", "MS", "USD", "REQUEST"], ...rows]);
}

/** Only a limited number of refusals and replays is stored individually. */
function formatUnlisted(unlisted: UnlistedRequests | null): string[] {
  if (unlisted === null || (unlisted.count === 0 && !unlisted.at_least)) return [];
  const { count, at_least: isAtLeast, since } = unlisted;
  if (count === 0)
    return [`There can be more since ${formatTime(since)}, because a server failed before it had stored all of them.`];
  const number = `${isAtLeast ? "At least " : ""}${count.toLocaleString("en")}`;
  return [`${number} more since ${formatTime(since)} were counted but not stored individually.`];
}
