import { type Static, Type } from "typebox";

const time = (description: string) => Type.String({ format: "date-time", description });
const ratio = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description });

export const incidentSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    title: Type.String(),
    impact: Type.Enum(["degraded", "outage"]),
    opened_at: time("When the incident started."),
    closed_at: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "Null while it is open.",
    }),
    updates: Type.Array(
      Type.Object({ at: Type.String({ format: "date-time" }), text: Type.String() }, { title: "IncidentUpdate" }),
      { description: "What the operator reported, oldest first." },
    ),
  },
  { title: "Incident" },
);

export type Incident = Static<typeof incidentSchema>;

const stateSchema = Type.Enum(["operational", "degraded", "outage", "unavailable"], {
  description:
    "`operational`: no incident is open. `degraded` or `outage`: the worst impact of an open incident. `unavailable`: no server is running, or the database does not respond.",
});

export const statusSchema = Type.Object(
  {
    state: stateSchema,
    written_at: time("The last update. If it is more than 5 minutes ago, this copy is out of date."),
    counted_before: time("The figures include searches started before this time."),
    objectives: Type.Array(
      Type.Object(
        {
          name: Type.Enum(["availability", "own_availability", "own_latency"]),
          target: Type.Number({ description: "The ratio that the operator aims for." }),
          value: ratio("The ratio in the last 30 days, rounded down. Null without requests."),
          met: Type.Union([Type.Boolean(), Type.Null()], { description: "Null without requests." }),
        },
        { title: "ServiceObjective" },
      ),
      {
        description:
          "`availability`: requests that succeeded. `own_availability`: the same, but failures of providers do not count. `own_latency`: successful searches that spent at most 100 ms outside providers. Requests rejected because of the caller are not included.",
      },
    ),
    days: Type.Array(
      Type.Object(
        {
          day: Type.String({ format: "date" }),
          availability: ratio("As in `objectives`. Null without requests."),
          p95_ms: Type.Union([Type.Integer(), Type.Null()], {
            description:
              "95th percentile of successful searches, measured from the request to the charge, and rounded up by less than 10%. Null without searches.",
          }),
        },
        { title: "StatusDay" },
      ),
      { description: "The last 90 days in UTC, oldest first. The last one is today." },
    ),
    incidents: Type.Array(incidentSchema, { description: "Open, or closed in the last 90 days. Newest first." }),
    cells: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            state: stateSchema,
            availability: ratio("In the last 30 days. Null without requests, or if the cell could not be read."),
          },
          { title: "StatusCell" },
        ),
        { description: "Present on a page of several cells. The other figures are totals of all cells." },
      ),
    ),
  },
  { title: "ServiceStatus" },
);

export type ServiceStatus = Static<typeof statusSchema>;
export type ServiceState = ServiceStatus["state"];
