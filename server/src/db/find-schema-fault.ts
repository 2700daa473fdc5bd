import { RefusedDatabase } from "./fence.ts";
import type { Queryable } from "./pool.ts";
import { readSchemaVersion } from "./schema-files.ts";

/**
 * Returns the reason this release must not use the database, or undefined. A running server continues while the next release's
 * schema is applied. To start on a newer schema, that schema must declare that it still serves this version: the newer
 * release knows what it changed. Rejects if the database is unavailable.
 */
export async function findSchemaFault(db: Queryable, when: "starting" | "running"): Promise<string | undefined> {
  const expected = readSchemaVersion();
  const { rows } = await db.query<{ version: number | null; serves_since: number | null }>(
    "select * from pb.read_schema_version()",
  );
  const { version, serves_since: servesSince } = rows[0] ?? {};
  if ((version ?? 0) < expected) {
    const fault = `The database has schema version ${version ?? 0}; this release needs version ${expected}.`;
    return when === "starting" ? `${fault} Run: npm run migrate` : fault;
  }
  if (when === "starting" && (servesSince ?? 0) > expected)
    return `The database has schema version ${version}, which no longer serves releases before version ${servesSince}. This release has version ${expected}. Start a newer release.`;
  return undefined;
}

/** The reason a process does not start. Names the setting, but not the address in it, which contains a password. */
export function describeDatabaseFailure(variable: string, error: unknown): string {
  if (error instanceof RefusedDatabase) return error.message;
  const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
  return `${variable} cannot be used (${code}). Check its address and password, then run: npm run migrate`;
}
