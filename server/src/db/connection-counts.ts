/** The maximum number of connections that a server opens, by pool. */
export const serverConnections = {
  /** Those of the ledger lanes, and three for key look-ups, health checks and tallies. */
  ledger: 14,
  tenant: 4,
  payments: 2,
  operator: 2,
  people: 4,
} as const;

/** The same for a worker. */
export const workerConnections = {
  tasks: 4,
  /** For statements that read whole tables. */
  reconcile: 4,
  payments: 4,
  /** One per task, and two of the job queue. */
  jobs: 16,
} as const;

export function totalOf(connections: Readonly<Record<string, number>>): number {
  return Object.values(connections).reduce((sum, count) => sum + count, 0);
}
