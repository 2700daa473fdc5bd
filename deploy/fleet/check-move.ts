import type { CellConnection } from "../../server/src/operator/connect-cells.ts";

interface MoveEnds {
  source: CellConnection;
  target: CellConnection;
  account: string;
}

/** Why the account cannot be moved. Empty if it can. */
export async function findFaults(
  { source, target, account }: MoveEnds,
  hasSamePaymentAccount: boolean | undefined,
): Promise<string[]> {
  const payments = await source.readText(
    `select (select count(*) from pb.payment_customers c where c.wallet_id = any (w.ids))
       + (select count(*) from pb.top_ups t where t.wallet_id = any (w.ids))
     from (select pb.account_wallets($1) as ids) w`,
    [account],
  );
  return [
    await findSchemaFault(source, target),
    ...(await findSecretFaults(source, target, account)),
    payments !== "0" && !hasSamePaymentAccount
      ? "The account has payments at the processor. If both cells use the same account there, repeat with --same-payment-account."
      : undefined,
  ].filter((fault) => fault !== undefined);
}

/** What a move carries. */
export interface MoveSize {
  rows: Record<string, number>;
  claims: number;
  claimBytes: number;
  /** Searches in flight, which the fence waits for. */
  pending: number;
  keysWithoutLabel: number;
  /** Connected apps, which people have to connect again in the other cell. */
  apps: number;
  /** How long reading the account took: the part of the pause that depends on its size. */
  exportMs: number;
}

export async function measureMove({ source, account }: Pick<MoveEnds, "source" | "account">): Promise<MoveSize> {
  const started = performance.now();
  const exported = JSON.parse(await source.readText("select pb.export_account($1)", [account])) as object;
  const exportMs = performance.now() - started;
  const [counts] = await source.readRows<Record<"claims" | "bytes" | "pending" | "apps" | "unlabelled", string>>(
    `select (select count(*) from pb.idempotency i where i.wallet_id = any (w.ids)) as claims,
       (select coalesce(sum(octet_length(i.answer)), 0) from pb.idempotency i where i.wallet_id = any (w.ids)) as bytes,
       pb.count_pending($1) as pending,
       (select count(*) from pb.connected_apps a where a.wallet_id = any (w.ids)) as apps,
       (select count(*) from pb.keys k where k.wallet_id = any (w.ids) and k.revoked_at is null
          and k.start !~ '^pb_[a-z]+_[a-z0-9]{10}_') as unlabelled
     from (select pb.account_wallets($1) as ids) w`,
    [account],
  );
  return {
    rows: Object.fromEntries(
      Object.entries(exported).flatMap(([name, rows]) => (Array.isArray(rows) ? [[name, rows.length]] : [])),
    ),
    claims: Number(counts?.claims),
    claimBytes: Number(counts?.bytes),
    pending: Number(counts?.pending),
    keysWithoutLabel: Number(counts?.unlabelled),
    apps: Number(counts?.apps),
    exportMs,
  };
}

async function findSchemaFault(source: CellConnection, target: CellConnection): Promise<string | undefined> {
  const [from, to] = await Promise.all(
    [source, target].map((cell) => cell.readText("select version from pb.schema_version", [])),
  );
  return from === to
    ? undefined
    : `${source.name} has schema version ${from} and ${target.name} ${to}. Upgrade both first.`;
}

interface Report {
  kind: string;
  version: string;
  check_value: string;
}

/**
 * Every server of the target must list the peppers of the account's keys and the secrets under which its values are sealed.
 * Servers report what they list every five seconds, by check values.
 */
async function findSecretFaults(source: CellConnection, target: CellConnection, account: string): Promise<string[]> {
  const needed = await source.readRows<Report>(
    `select distinct r.kind, r.version, r.check_value from (${reports}) r
     where (r.kind = 'secret' and r.version in (
         select s.writing_version from pb.secret_state s union select unnest(s.previous_versions) from pb.secret_state s
       ))
       or (r.kind = 'pepper' and r.version in (
         select k.pepper_version from pb.keys k
         where k.wallet_id = any (pb.account_wallets($1)) and k.revoked_at is null
       ))`,
    [account],
  );
  const listed = await target.readRows<Report & { process_id: string }>(reports, []);
  const isListed = (process: string, { kind, version, check_value }: Report): boolean =>
    listed.some(
      (each) =>
        each.process_id === process &&
        each.kind === kind &&
        each.check_value === check_value &&
        // A sealed value names its version. A pepper is found by trying all.
        (kind === "pepper" || each.version === version),
    );
  for (const [cell, found] of [[source, needed] as const, [target, listed] as const])
    if (!found.some(({ kind }) => kind === "pepper"))
      return [`No server of ${cell.name} has reported its secrets within a minute.`];
  return needed
    .filter((each) => listed.some(({ kind, process_id }) => kind === each.kind && !isListed(process_id, each)))
    .map(({ kind, version }) =>
      kind === "pepper"
        ? `PENNYBLACK_KEY_PEPPERS of ${target.name} does not list version ${version} of ${source.name}.`
        : `PENNYBLACK_SECRET of ${target.name} does not list version ${version} of ${source.name} under the same number.`,
    );
}

/** One row per process, kind and version. A worker lists no peppers. */
const reports = `
  select p.process_id, 'secret' as kind, s.version, s.check_value
  from pb.secret_reports p cross join lateral unnest(p.versions, p.check_values) as s (version, check_value)
  where not p.has_stopped and p.seen_at > now() - interval '1 minute'
  union all
  select p.process_id, 'pepper', s.version, s.check_value
  from pb.secret_reports p cross join lateral unnest(p.pepper_versions, p.pepper_checks) as s (version, check_value)
  where not p.has_stopped and p.seen_at > now() - interval '1 minute'`;
