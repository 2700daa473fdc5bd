/**
 * The SQLSTATEs that only our own functions raise. sql-states.test.ts compares them with server/sql/*.sql and with the table in
 * server/sql/README.md.
 */
export const sqlStates = {
  /** The database is on another timeline than expected. The statement was rolled back. */
  otherTimeline: "PB001",
  /** An adjustment cannot be booked. Caught in SQL, so callers get it as an outcome. */
  adjustmentRefused: "PB010",
  /** The session of the person who makes a change has ended since it was authenticated. The change was rolled back. */
  sessionEnded: "PB020",
} as const;
