import { ConfigFaults, serverSettings, workerSettings } from "../../config/config.ts";
import { type CommandContext, CommandFailed, type StandaloneCommand } from "../command.ts";
import { checkMail, checkOidc, checkUpstreamCalls } from "./check-addresses.ts";
import { checkDatabase } from "./check-database.ts";
import { checkHosts } from "./check-hosts.ts";
import { checkBackups, checkMachine, checkPublicUrl, checkRedis } from "./check-machine.ts";
import { checkSettings, type DoctorConfig } from "./check-settings.ts";
import { error, type Finding } from "./finding.ts";

export const doctorCommand: StandaloneCommand = {
  summary:
    "Check settings, database, Redis, clocks, disks, backups and all addresses. Exits with 1 if there are errors.",
  runAlone: diagnose,
};

const checks: Record<string, (config: DoctorConfig) => Finding[] | Promise<Finding[]>> = {
  Settings: checkSettings,
  Database: checkDatabase,
  "Database hosts": checkHosts,
  Redis: checkRedis,
  Machine: checkMachine,
  Backups: checkBackups,
  Email: checkMail,
  "OpenID Connect": checkOidc,
  Upstreams: checkUpstreamCalls,
  "Public URL": checkPublicUrl,
};

async function diagnose({ print, readSettings }: Pick<CommandContext, "print" | "readSettings">): Promise<void> {
  const found = readAll(readSettings);
  const findings = "faults" in found ? found.faults : [];
  for (const finding of findings) print(format(finding));
  if ("config" in found) {
    for (const [name, check] of Object.entries(checks)) {
      const ofCheck = await check(found.config);
      print(`${name}: ${ofCheck.length === 0 ? "ok" : count(ofCheck.length, "problem")}`);
      for (const finding of ofCheck) print(format(finding));
      findings.push(...ofCheck);
    }
  } else print("The other checks need valid settings.");
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const summary = `${count(errors, "error")}, ${count(findings.length - errors, "warning")}.`;
  if (errors > 0) throw new CommandFailed(summary);
  print(summary);
}

/** Those of the server, the worker and the admin command, which usually share one file. */
function readAll(readSettings: CommandContext["readSettings"]): { config: DoctorConfig } | { faults: Finding[] } {
  try {
    return { config: readSettings([...serverSettings, ...workerSettings, "directDatabaseUrl"]) };
  } catch (failure) {
    if (!(failure instanceof ConfigFaults)) throw failure;
    const fix = "See the settings in docs/settings.md.";
    return { faults: failure.faults.map((fault) => error(`${fault}.`, fix)) };
  }
}

function format({ severity, problem, fix }: Finding): string {
  return `  ${severity}: ${problem}\n    ${fix}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
