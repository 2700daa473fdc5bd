/** One row of the table in problems.ts. */
export interface ProblemRow {
  status: number;
  title: string;
  /** Whether the same request can succeed later. Default: false. */
  retryable?: boolean;
  detail: string;
  /** Text of the documentation page: causes and remedies, in a few sentences. */
  page: string;
  /** Headers sent with every occurrence. */
  headers?: Record<string, string>;
  retryAfterSeconds?: number;
  /** Example values of the members, of the other placeholders in `detail`, and of the headers that vary. */
  members?: Record<string, unknown>;
  values?: Record<string, unknown>;
  occurrenceHeaders?: Record<string, string>;
}
