/** A failure nobody foresaw, as a sentence with a next step. The admin command shows it to the operator alone. */
export function explainFailure(error: unknown): string {
  const { code, message } = readError(error);
  switch (code) {
    case "ECONNREFUSED":
    case "ENOTFOUND":
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
      return `PostgreSQL cannot be reached (${code}). Is it running, or "npm run dev"? Check PENNYBLACK_DIRECT_DATABASE_URL.`;
    case "28P01":
    case "28000":
      return `PostgreSQL does not let us in: ${message}. Check PENNYBLACK_DIRECT_DATABASE_URL.`;
    case "3D000":
    case "3F000":
    case "42P01":
    case "42883":
      return `The database is not ready: ${message}. Run: npm run migrate`;
    default:
      return `That failed${code ? ` (${code})` : ""}: ${message}`;
  }
}

/** Node gathers the attempts to reach a host with several addresses in one error without a message. */
function readError(error: unknown): { code: string; message: string } {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  if (!(first instanceof Error)) return { code: "", message: String(first) };
  return { code: "code" in first ? String(first.code) : "", message: first.message };
}
