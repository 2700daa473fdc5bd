import type { Queryable } from "../db/pool.ts";
import { readAccountWallets, type WalletOfAccount } from "../wallet/wallet.ts";

export interface AccountView {
  id: string;
  name: string;
  createdAt: Date;
  deletedAt: Date | null;
  owners: string[];
  wallets: WalletOfAccount[];
}

/** Newest first. With an address, only accounts that this person is a member of; with ids, only these. */
export async function listAccounts(
  db: Queryable,
  { email, ids, limit }: { email?: string | undefined; ids?: readonly string[] | undefined; limit: number },
): Promise<AccountView[]> {
  const { rows } = await db.query<Omit<AccountView, "wallets">>(
    `select a.id, a.name, a.created_at as "createdAt", a.deleted_at as "deletedAt", array(
         select p.email from pb.members m join pb.people p on p.id = m.person_id
         where m.account_id = a.id and m.role = 'owner' order by m.joined_at
       ) as owners
     from pb.accounts a
     where ($1::text is null or a.id in (
         select m.account_id from pb.members m join pb.people p on p.id = m.person_id where p.email = $1
       )) and ($3::uuid[] is null or a.id = any ($3))
     order by a.created_at desc, a.id limit $2`,
    [email ?? null, limit, ids ?? null],
  );
  const wallets = await readAccountWallets(
    db,
    rows.map((row) => row.id),
  );
  return rows.map((row) => ({ ...row, wallets: wallets.filter((wallet) => wallet.accountId === row.id) }));
}
