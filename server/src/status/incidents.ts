import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import type { Act } from "../db/record-act.ts";
import { readStatusCounts } from "./read-status.ts";
import type { Incident } from "./status-schema.ts";

// Each of these also writes the list of changes and an event for every wallet with a webhook for `service.incident`.

export const impacts = ["degraded", "outage"] as const;
export type Impact = (typeof impacts)[number];

export interface NewIncident {
  title: string;
  impact: Impact;
  text: string;
  /** Default: now. */
  openedAt: Date | undefined;
}

/** Returns its id. */
export async function openIncident(
  db: Queryable,
  act: Act,
  { title, impact, text, openedAt }: NewIncident,
): Promise<string> {
  const id = randomUUIDv7();
  await db.query("select pb.open_incident($1, $2, $3, $4, $5, $6, coalesce($7, clock_timestamp()))", [
    act.operator,
    act.reason,
    id,
    title,
    impact,
    text,
    openedAt ?? null,
  ]);
  return id;
}

export interface IncidentUpdate {
  text: string;
  /** Undefined: unchanged. */
  impact?: Impact | undefined;
  isClosing: boolean;
}

export async function updateIncident(
  db: Queryable,
  act: Act,
  id: string,
  { text, impact, isClosing }: IncidentUpdate,
): Promise<"done" | "closed" | "not_found"> {
  const { rows } = await db.query<{ outcome: "done" | "closed" | "not_found" }>(
    "select pb.update_incident($1, $2, $3, $4, $5, $6) as outcome",
    [act.operator, act.reason, id, impact ?? null, text, isClosing],
  );
  return rows[0]?.outcome ?? "not_found";
}

/** Open, or closed in the last 90 days. Newest first. */
export async function readIncidents(db: Queryable): Promise<Incident[]> {
  return (await readStatusCounts(db)).incidents;
}
