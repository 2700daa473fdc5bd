import type { Secrets } from "../lib/secrets.ts";
import type { Queryable } from "./pool.ts";

/** Returns the reason a process with these secrets must not start, or undefined. */
export async function findUnlistedSecret(db: Queryable, { all }: Secrets): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>("select pb.secrets_in_use() as id");
  const missing = rows.find((row) => !all.some(({ id }) => id === row.id));
  return (
    missing &&
    `PENNYBLACK_SECRET does not list the secret ${missing.id}, under which data keys are encrypted. Add it to the list. See docs/runbooks/rotate-secret.md.`
  );
}
