import { readFileSync } from "node:fs";
import { type FleetCell, FleetFault, readEdgeSockets } from "../../server/src/operator/operator-client.ts";
import type { Report } from "./commands.ts";
import { type MoveOptions, moveAccount, previewMove } from "./move.ts";

export interface MoveArguments {
  fleet: string;
  account?: string | undefined;
  to?: string | undefined;
  reason?: string | undefined;
  operator: string;
  "dry-run": boolean;
  "same-payment-account": boolean;
}

/** Prints every step as it completes, because an operator watches a move. */
export async function runMove(cells: readonly FleetCell[], values: MoveArguments): Promise<Report> {
  const { account, to, reason } = values;
  if (!account || !to || !reason) throw new FleetFault("move needs --account, --to and --reason");
  if (!/^[0-9a-f-]{36}$/.test(account)) throw new FleetFault(`"${account}" is not the id of an account`);
  const options: MoveOptions = {
    cells: cells.map(({ name, databaseUrlFile }) => {
      if (databaseUrlFile === undefined)
        throw new FleetFault(`${values.fleet}: ${name} needs databaseUrlFile for a move`);
      return { name, databaseUrl: readUrl(databaseUrlFile) };
    }),
    account,
    to,
    reason,
    operator: values.operator,
    edgeSockets: readEdgeSockets(values.fleet),
    hasSamePaymentAccount: values["same-payment-account"],
    onStep: (step) => console.log(`${new Date().toISOString()}  ${step}`),
  };
  return values["dry-run"] ? preview(options) : move(options);
}

function readUrl(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new FleetFault(`${file} cannot be read`);
  }
}

async function move(options: MoveOptions): Promise<Report> {
  const { outcome, pauseMs, epoch } = await moveAccount(options);
  const texts = {
    moved: `Moved to ${options.to} in epoch ${epoch}${pauseMs > 0 ? `, after a pause of ${Math.round(pauseMs)} ms` : ""}. Add its label to "moved" in the list of cells.`,
    already_there: `The account is in ${options.to} already.`,
    undone: "Not moved: its searches did not end within five seconds, several times. Repeat the command later.",
  };
  return { text: texts[outcome], isHealthy: outcome !== "undone" };
}

async function preview(options: MoveOptions): Promise<Report> {
  const { from, faults, rows, claims, claimBytes, pending, keysWithoutLabel, apps, exportMs } =
    await previewMove(options);
  const lines = [
    `From ${from} to ${options.to}:`,
    ...Object.entries(rows)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `  ${String(count).padStart(8)}  ${name}`),
    `  ${String(claims).padStart(8)}  answers stored for Idempotency-Keys, ${Math.ceil(claimBytes / 1_024)} kB, copied before the pause`,
    `Expected pause: until ${pending} searches in flight have ended, and about ${Math.ceil(3 * exportMs) + 50} ms.`,
    keysWithoutLabel > 0 &&
      `${keysWithoutLabel} keys have no label. Their requests go to the default cell, which forwards them.`,
    apps > 0 && `${apps} connected apps have to be connected again in ${options.to}.`,
    ...faults.map((fault) => `Not possible: ${fault}`),
  ];
  return { text: lines.filter((line) => line !== false).join("\n"), isHealthy: faults.length === 0 };
}
