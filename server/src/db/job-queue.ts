import { Logger, runMigrations } from "graphile-worker";
import type { Queryable } from "./pool.ts";
import { roles } from "./roles.ts";

/**
 * Installs or updates the tables of the job queue as the owner, and lets the worker's role use them. graphile-worker
 * enables row-level security on its tables, so each also needs a policy.
 */
export async function installJobQueue(owner: Queryable, ownerUrl: string): Promise<void> {
  await runMigrations({ connectionString: ownerUrl, logger: new Logger(() => () => undefined) });
  await owner.query(grants);
}

const grants = `
  grant usage on schema graphile_worker to ${roles.worker};
  grant select, insert, update, delete on all tables in schema graphile_worker to ${roles.worker};
  grant usage on all sequences in schema graphile_worker to ${roles.worker};
  grant execute on all functions in schema graphile_worker to ${roles.worker};
  do $$
  declare
    own regclass;
  begin
    for own in
      select c.oid from pg_class c
      where c.relnamespace = 'graphile_worker'::regnamespace and c.relrowsecurity
        and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = '${roles.worker}')
    loop
      execute format('create policy ${roles.worker} on %s to ${roles.worker} using (true) with check (true)', own);
    end loop;
  end $$`;
