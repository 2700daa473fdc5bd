import assert from "node:assert/strict";
import { seedProof } from "../support/data/seed-proof.ts";
import type { TestDatabase } from "../support/services/database.ts";
import { createTestWallet, type TestServer } from "../support/services/server.ts";
import type { Tenant } from "./tenant-requests.ts";

/** A wallet with money, keys, a paid search and usage, all named with a marker. */
export async function openTenant(db: TestDatabase, server: TestServer, mark: string): Promise<Tenant> {
  const wallet = await createTestWallet(db, "10.00");
  await db.owner.query("update pb.wallets set name = $2 where id = $1", [wallet.walletId, `${mark} wallet`]);
  await db.owner.query("update pb.keys set name = $2 || ' ' || name where wallet_id = $1", [wallet.walletId, mark]);
  const paid = await server.search(wallet.live, { query: "cats" }, { "search-run": `${mark}; max=1.00` });
  assert.equal(paid.status, 200, paid.text);
  // Usage is written directly instead of by the worker.
  await db.owner.query(
    `insert into pb.usage_days (day, wallet_id, key_id, mode, category, outcome, was_held, searches, charged_micros)
     select current_date - days, $1, $2, 'live', '', 'ok', true, 1, 10000 from generate_series(1, 2) days`,
    [wallet.walletId, wallet.liveKeyId],
  );
  await seedProof(db.owner, wallet.walletId);
  const manage: Tenant["manage"] = (method, path, body, headers = {}) =>
    server.request(path, {
      method,
      headers: {
        "x-api-key": wallet.management,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return { ...wallet, mark, manage, paidSearch: paid.headers.get("request-id") ?? "" };
}

/** All rows of a tenant, except last_used_at and the counts of upstream calls, which servers write asynchronously. */
export async function readRows(db: TestDatabase, { walletId }: Pick<Tenant, "walletId">): Promise<string[]> {
  const { rows: tables } = await db.owner.query<{ name: string; owner: string }>(
    `select c.relname as name, a.attname as owner from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'pb'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname not in ('upstream_wallet_days', 'abandoned_calls')
       and (a.attname = 'wallet_id' or (c.relname = 'wallets' and a.attname = 'id')) order by c.relname`,
  );
  assert.ok(tables.length >= 9, "tables were found");
  const found: string[] = [];
  for (const { name, owner: column } of tables) {
    const { rows } = await db.owner.query<{ row: string }>(
      `select '${name} ' || (to_jsonb(t) - 'last_used_at')::text as row from pb.${name} t where ${column} = $1 order by 1`,
      [walletId],
    );
    found.push(...rows.map(({ row }) => row));
  }
  return found;
}
