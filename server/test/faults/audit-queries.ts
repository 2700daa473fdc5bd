// The statements of audit.ts. `searched` is the journal, `answered` its entries with a status, `charges` the captures in
// the ledger, and `unexplained` the charges that no answer explains.

export const prepareAudit = {
  searched: `
    create temporary table searched (
      wallet_id uuid, idempotency_key text, kind text, status integer, code text, request_id uuid, charge text,
      is_replayed boolean, answer text
    )`,
  ledger: `
    create temporary table charges on commit drop as
      select search_id, wallet_id, amount_micros from pb.transfers where kind = 'capture';
    create temporary table answered on commit drop as
      select *,
        concat_ws(' ', status, coalesce(code, ''), 'of', request_id) as name,
        case when status = 200 and not is_replayed then '0.01;currency=usd' else '0.00;currency=usd' end as expected_charge
      from searched where kind = 'answered';
    create temporary table unexplained on commit drop as
      select c.wallet_id, c.search_id, s.idempotency_hmac is not null as has_key
      from charges c left join pb.searches s on s.id = c.search_id
      where c.wallet_id in (select wallet_id from searched)
        and not exists (select from answered a where a.request_id = c.search_id);
    analyze charges; analyze answered; analyze unexplained; analyze searched`,
};

/** Each selects descriptions of violations. */
export const auditChecks = [
  `select format('%s has Wallet-Charge %s, not %s', name, charge, expected_charge) as violation
   from answered where charge is distinct from expected_charge`,

  `select format('%s was charged %s times', name, count(c)) as violation
   from answered a left join charges c on c.search_id = a.request_id
   where expected_charge like '0.01%' group by name, a.request_id having count(c) <> 1`,
  `select format('%s was charged to another wallet, or not one cent', name) as violation
   from answered a join charges c on c.search_id = a.request_id
   where expected_charge like '0.01%' and (c.wallet_id <> a.wallet_id or c.amount_micros <> 10000)`,
  `select format('%s was charged', name) as violation
   from answered a join charges c on c.search_id = a.request_id where expected_charge like '0.00%'`,
  `select format('%s is %s in the ledger', name, coalesce(s.state::text, 'unknown')) as violation
   from answered a left join pb.searches s on s.id = a.request_id
   where case when expected_charge like '0.01%' then s.state is distinct from 'captured'
     else s.state in ('captured', 'pending') end`,

  // The journal's wallets are never topped up, so their final balance is their lowest. A balance on hold is possible only
  // if the other searches could hold all of it.
  `select format('%s was rejected, and wallet %s has %s micro-USD left', name, a.wallet_id, balance) as violation
   from answered a
     join (select id as wallet_id, credited_micros - debited_micros as balance from pb.wallets) w using (wallet_id)
     join (select wallet_id, count(*) as searches from searched group by 1) n using (wallet_id)
   where status = 402 and balance >= 10000 * case code when 'insufficient_balance' then 1 else searches end`,

  ...walletSums("credits", "credited_micros", "to_account"),
  ...walletSums("debits", "debited_micros", "from_account"),
  `select format('wallet %s is below zero', id) as violation from pb.wallets
   where credited_micros - debited_micros - held_micros < 0`,
  `select format('wallet %s still holds %s', id, held_micros) as violation from pb.wallets where held_micros <> 0`,
  `select format('search %s is still pending', id) as violation from pb.searches where state = 'pending'`,
  `select format('captured search %s does not have exactly one charge', s.id) as violation
   from pb.searches s left join charges c on c.search_id = s.id
   where s.state = 'captured' and s.price_micros > 0 group by s.id having count(c) <> 1`,
  `select format('wallet %s has %s captured searches and %s charges', id, searches, charges) as violation
   from pb.wallets w
     left join (select wallet_id as id, count(*) as searches from pb.searches
       where state = 'captured' and price_micros > 0 group by 1) s using (id)
     left join (select wallet_id as id, count(*) as charges from charges group by 1) c using (id)
   where coalesce(searches, 0) <> coalesce(charges, 0)`,

  // Only a caller whose connection closed may have been charged without an answer. Requests with and without an
  // Idempotency-Key are counted separately.
  `select format('wallet %s has %s charges for %s closed connections (key: %s)',
     wallet_id, found, coalesce(closed, 0), has_key) as violation
   from (select wallet_id, has_key, count(*) as found from unexplained group by 1, 2) f
     left join (select wallet_id, idempotency_key is not null as has_key, count(*) as closed
       from searched where kind = 'closed' group by 1, 2) c using (wallet_id, has_key)
   where found > coalesce(closed, 0)`,

  `select format('Idempotency-Key with HMAC %s was charged %s times', encode(idempotency_hmac, 'hex'), count(*)) as violation
   from pb.searches where state = 'captured' and idempotency_hmac is not null
   group by wallet_id, mode, idempotency_hmac having count(*) > 1`,
  `select format('Idempotency-Key %s was answered %s times as paid', idempotency_key, count(*)) as violation
   from answered where idempotency_key is not null and charge like '0.01%' and status = 200
   group by wallet_id, idempotency_key having count(*) > 1`,
  `select format('Idempotency-Key %s got different answers', idempotency_key) as violation
   from answered where idempotency_key is not null and status = 200
   group by wallet_id, idempotency_key having count(distinct answer) > 1`,
  `select case when coalesce(paid, 0) < min_charges
       then format('wallet %s: %s keys answered, %s charged', wallet_id, min_charges, coalesce(paid, 0))
       else format('wallet %s: %s keys could be charged, %s were', wallet_id, max_charges, paid) end as violation
   from (
     select wallet_id, count(*) filter (where is_answered) as min_charges,
       count(*) filter (where is_answered or is_closed) as max_charges
     from (
       select wallet_id, idempotency_key, bool_or(kind = 'answered' and status = 200) as is_answered,
         bool_or(kind = 'closed') as is_closed
       from searched where idempotency_key is not null group by 1, 2
     ) keys group by 1
   ) k
   left join (
     select wallet_id, count(*) as paid from pb.searches
     where state = 'captured' and idempotency_hmac is not null and mode = 'live' group by 1
   ) p using (wallet_id)
   where coalesce(paid, 0) not between min_charges and max_charges`,
];

/** Compares a wallet's sum with its transfers. */
function walletSums(verb: string, column: string, account: string): string[] {
  return [
    `select format('wallet %s ${verb} %s, its transfers %s', w.id, w.${column}, coalesce(t.micros, 0)) as violation
     from pb.wallets w left join (
       select wallet_id as id, sum(amount_micros) as micros from pb.transfers where ${account} = 'wallet' group by 1
     ) t using (id)
     where w.${column} <> coalesce(t.micros, 0)`,
  ];
}

export const auditCounts = `
  select
    count(*) filter (where kind = 'answered' and charge like '0.01%') as charged,
    count(*) filter (where kind = 'answered' and charge like '0.01%' and c.search_id is null) as lost,
    count(*) filter (where kind = 'answered' and is_replayed) as replayed,
    count(*) filter (where kind = 'answered' and status <> 200) as errors,
    (select count(*) from unexplained) as "closedCharged",
    count(*) filter (where kind = 'closed') - (select count(*) from unexplained) as "closedFree"
  from searched left join (select distinct search_id from charges) c on c.search_id = request_id`;
