import { formatTable } from "../lib/format-table.ts";
import { type Impact, impacts, openIncident, readIncidents, updateIncident } from "../status/status.ts";
import { type Command, type CommandContext, CommandFailed, UsageError, type Values } from "./command.ts";
import { readId, readOptionalText, readOptionalTime, readText } from "./read-values.ts";

/** Incidents on the status page. */
export const incidentCommands: Record<string, Command> = {
  open: {
    role: "operator",
    changes: true,
    summary: "Report an incident on the status page and to webhooks for service.incident.",
    required: ["--title <text>", "--text <text>"],
    options: ["--impact <degraded|outage>", "--since <time>", "--json"],
    run: open,
  },
  update: {
    role: "operator",
    changes: true,
    summary: "Add an update to an open incident.",
    required: ["--incident <id>", "--text <text>"],
    options: ["--impact <degraded|outage>"],
    run: (context) => update(context, false),
  },
  close: {
    role: "operator",
    changes: true,
    summary: "Close an incident with a last update.",
    required: ["--incident <id>", "--text <text>"],
    run: (context) => update(context, true),
  },
  list: {
    role: "operator",
    summary: "List incidents that are open or were closed in the last 90 days.",
    run: list,
  },
};

async function open({ values, pool, print, act }: CommandContext): Promise<void> {
  const title = readShortText(values, "title", 120);
  const text = readShortText(values, "text", 1_000);
  const openedAt = readOptionalTime(values, "since");
  if (openedAt && openedAt.getTime() > Date.now()) throw new UsageError("--since must be in the past.");
  const impact = readImpact(values) ?? "degraded";
  const id = await openIncident(pool, act, { title, impact, text, openedAt });
  if (values["json"]) return print(JSON.stringify({ incidentId: id }));
  print(`Opened incident ${id} (${impact}). The status page shows it within a minute.`);
}

async function update({ values, pool, print, act }: CommandContext, isClosing: boolean): Promise<void> {
  const id = readId(values, "incident");
  const text = readShortText(values, "text", 1_000);
  const outcome = await updateIncident(pool, act, id, { text, impact: readImpact(values), isClosing });
  if (outcome === "not_found") throw new CommandFailed(`No incident has the id ${id}. Nothing was changed.`);
  if (outcome === "closed") throw new CommandFailed(`Incident ${id} is already closed. Nothing was changed.`);
  print(
    isClosing
      ? "Closed. The status page shows it within a minute."
      : "Added. The status page shows it within a minute.",
  );
}

async function list({ pool, print }: CommandContext): Promise<void> {
  const incidents = await readIncidents(pool);
  if (incidents.length === 0) return print("No incidents in the last 90 days.");
  const rows = incidents.map(({ id, opened_at, closed_at, impact, title }) => [
    id,
    opened_at,
    closed_at ?? "open",
    impact,
    title,
  ]);
  print(formatTable(rows, ["incident", "opened", "closed", "impact", "title"]));
}

function readShortText(values: Values, name: string, maxLength: number): string {
  const text = readText(values, name);
  if (text.length > maxLength) throw new UsageError(`--${name} must have at most ${maxLength} characters.`);
  return text;
}

function readImpact(values: Values): Impact | undefined {
  const text = readOptionalText(values, "impact");
  const impact = impacts.find((known) => known === text);
  if (text !== undefined && impact === undefined) throw new UsageError("--impact must be degraded or outage.");
  return impact;
}
