/** What problems.ts says of one refusal. */
export interface ProblemRow {
  status: number;
  title: string;
  retryable: boolean;
  detail: string;
  /** For the page: what leads here and what to do about it, in a few sentences. */
  page: string;
  /** Headers that always come with it. */
  headers?: Record<string, string>;
  retryAfterSeconds?: number;
  /** What an occurrence adds, by example. */
  members?: Record<string, unknown>;
  occurrenceHeaders?: Record<string, string>;
}
