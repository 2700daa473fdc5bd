import { parseArgs } from "node:util";
import { find, margin, type Report, reconcile, status, statusPage } from "./fleet-commands.ts";
import { type FleetCell, FleetFault, readFleet } from "./operator-client.ts";

const usage = `Usage: npm run fleet -- COMMAND [--fleet fleet.json]

  status           version, load, customer balance and open problems of every cell
  reconcile        the latest reconciliation of every cell, and transfers of which the two sides differ
  margin [--days]  revenue, upstream cost and margin of every cell; 30 days by default
  find --text      a request, wallet, key or account in every cell: by Request-Id, another id, the start of a key, email
                   address or a part of a name; with --from, --to and --outcome, also its searches
  status-page      writes the status page of all cells together: --out, an existing folder, and --url, the public address

The exit code is 1 if a cell cannot be read, needs immediate attention or has differences.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    fleet: { type: "string", default: "fleet.json" },
    days: { type: "string", default: "30" },
    text: { type: "string" },
    from: { type: "string" },
    to: { type: "string" },
    outcome: { type: "string" },
    out: { type: "string" },
    url: { type: "string" },
    help: { type: "boolean" },
  },
});

const days = Number(values.days);
const commands: Record<string, (cells: FleetCell[]) => Promise<Report>> = {
  status: (cells) => status(cells),
  reconcile: (cells) => reconcile(cells),
  margin: (cells) => margin(cells, days),
  ...(values.text !== undefined && { find: (cells: FleetCell[]) => find(cells, findParameters(values)) }),
  ...(values.out !== undefined &&
    URL.canParse(values.url ?? "") && {
      "status-page": (cells: FleetCell[]) =>
        statusPage(cells, { folder: values.out ?? "", publicUrl: (values.url ?? "").replace(/\/+$/, "") }),
    }),
};

function findParameters({ text = "", from, to, outcome }: typeof values): Record<string, string> {
  return {
    text,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(outcome !== undefined && { outcome }),
  };
}

try {
  const command = commands[positionals[0] ?? ""];
  if (values.help) console.log(usage);
  else if (!command || positionals.length !== 1 || !(Number.isInteger(days) && days > 0 && days <= 3_660)) {
    console.error(usage);
    process.exitCode = 2;
  } else {
    const { text, isHealthy } = await command(readFleet(values.fleet));
    console.log(text);
    process.exitCode = isHealthy ? 0 : 1;
  }
} catch (error) {
  if (!(error instanceof FleetFault)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
