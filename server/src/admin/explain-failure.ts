import { RefusedDatabase } from "../db/fence.ts";
import { grantAdminRoles, roles } from "../db/roles.ts";

/**
 * Describes an unexpected error, with a next step. Shown only to the operator who runs the command. `variable` has the URL of
 * the connection.
 */
export function explainFailure(error: unknown, variable = "PENNYBLACK_DIRECT_DATABASE_URL"): string {
  const { code, message } = readError(error);
  if (error instanceof RefusedDatabase) return message;
  switch (code) {
    case "ECONNREFUSED":
    case "ENOTFOUND":
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
      return `Cannot connect to PostgreSQL (${code}). Check that it or "npm run dev" is running, and ${variable}.`;
    case "28P01":
    case "28000":
      return `PostgreSQL rejected the login: ${message}. Check ${variable}.`;
    case "42501":
      return `The database login lacks a privilege: ${message}. See "Database roles of the admin command" in docs/operate.md. If the login is ${roles.owner}, run "npm run migrate" with PENNYBLACK_ADMIN_DATABASE_URL, or as a superuser: ${grantAdminRoles}`;
    case "22023":
    case "3D000":
    case "3F000":
    case "42P01":
    case "42883":
      return `The database is not set up: ${message}. Run: npm run migrate`;
    default:
      return `Unexpected error${code ? ` (${code})` : ""}: ${message}`;
  }
}

/** Node reports failed attempts to several addresses of a host as one AggregateError without a message. */
function readError(error: unknown): { code: string; message: string } {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  if (!(first instanceof Error)) return { code: "", message: String(first) };
  return { code: "code" in first ? String(first.code) : "", message: first.message };
}
