/** One row of the table in problems.ts. */
export interface ProblemRow {
  status: number;
  title: string;
  /** Whether the same request can succeed later. Default: false. */
  retryable?: boolean;
  detail: string;
  /** For the documentation page: why the request was rejected, and what to do, in a few sentences each. */
  cause: string;
  fix: string;
  /** Headers sent with every occurrence. */
  headers?: Record<string, string>;
  retryAfterSeconds?: number;
  /** Example values of the members, of the other placeholders in `detail`, and of the headers that vary. */
  members?: Record<string, unknown>;
  values?: Record<string, unknown>;
  occurrenceHeaders?: Record<string, string>;
}
