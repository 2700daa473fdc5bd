import { parseArgs } from "node:util";
import { startInstallation } from "./installation.ts";
import { plantedFaults } from "./planted-faults.ts";
import { recordQuiet } from "./quiet.ts";
import { runFaults } from "./run-fault.ts";

// `npm run alerts`: real PostgreSQL, Redis, Prometheus, Alertmanager and exporters with the shipped rules and intervals.

const usage = `npm run alerts -- quiet [--minutes 10] [--searches 1000]
npm run alerts -- faults [--only ID] [--lanes 3]

  quiet   records a new installation during its first searches and while it is idle, and reports every alert within a day
  faults  plants each fault in an installation under load, waits for the notification and follows its runbook;
          --only can be repeated: ${plantedFaults.map(({ id }) => id).join(", ")}

Exit code 1: an alert fired in a quiet installation, a notification did not arrive, or a runbook did not repair a fault.`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "10" },
    searches: { type: "string", default: "1000" },
    only: { type: "string", multiple: true },
    lanes: { type: "string", default: "3" },
    help: { type: "boolean", default: false },
  },
});

const commands: Record<string, () => Promise<boolean>> = { quiet, faults };

// Exit handlers stop all processes.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main());

async function main(): Promise<number> {
  const command = commands[positionals[0] ?? ""];
  if (values.help || !command || positionals.length !== 1) {
    console.error(usage);
    return values.help ? 0 : 2;
  }
  return (await command()) ? 0 : 1;
}

async function quiet(): Promise<boolean> {
  const installation = await startInstallation();
  try {
    const options = { searches: Number(values.searches), idleMinutes: Number(values.minutes) };
    const result = await recordQuiet(installation, options);
    console.log(JSON.stringify(result));
    const { firstHours, firstDay, idleDay, withoutWorker } = result;
    // Otherwise the evaluation would find nothing at all.
    const isNoticed = withoutWorker.some((alert) => alert.includes("WorkerNotSeen"));
    return [...firstHours, ...firstDay, ...idleDay].length === 0 && isNoticed;
  } finally {
    await installation.close();
  }
}

async function faults(): Promise<boolean> {
  const { only } = values;
  const selected = plantedFaults.filter(({ id }) => only === undefined || only.includes(id));
  if (only?.some((id) => !selected.some((fault) => fault.id === id))) throw new Error(usage);
  const background = selected.filter(({ isInBackground }) => isInBackground);
  const alone = selected.filter(({ isInBackground }) => !isInBackground).map((fault) => [fault]);
  const queue = background.length > 0 ? [background, ...alone] : alone;
  let failed = 0;
  const lane = async (): Promise<void> => {
    for (let group = queue.shift(); group; group = queue.shift()) {
      const ids = group.map(({ id }) => id);
      const results = await runFaults(group).catch((error: unknown) => {
        failed += ids.length;
        return [{ ids, error: String(error) }];
      });
      for (const result of results) console.log(JSON.stringify(result));
    }
  };
  await Promise.all(Array.from({ length: Number(values.lanes) }, lane));
  return failed === 0;
}
