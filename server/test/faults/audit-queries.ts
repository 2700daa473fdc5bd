// What audit.ts asks. `seen` is what the clients wrote down, `answered` what of it has a status, `charges` what the ledger
// says was paid for, and `strays` the charges that no answer explains.

export const prepareAudit = {
  seen: `
    create temporary table seen (
      wallet_id uuid, idempotency_key text, kind text, status integer, code text, request_id uuid, charge text,
      is_replayed boolean, answer text
    )`,
  ledger: `
    create temporary table charges on commit drop as
      select search_id, wallet_id, amount_micros from pb.transfers where kind = 'capture';
    create temporary table answered on commit drop as
      select *,
        concat_ws(' ', status, coalesce(code, ''), 'of', request_id) as name,
        case when status = 200 and not is_replayed then '0.01;currency=usd' else '0.00;currency=usd' end as should_say
      from seen where kind = 'answered';
    create temporary table strays on commit drop as
      select c.wallet_id, c.search_id, s.idempotency_hmac is not null as has_key
      from charges c left join pb.searches s on s.id = c.search_id
      where c.wallet_id in (select wallet_id from seen)
        and not exists (select from answered a where a.request_id = c.search_id);
    analyze charges; analyze answered; analyze strays; analyze seen`,
};

/** Each selects sentences about what is wrong. */
export const auditChecks = [
  `select format('%s says Wallet-Charge %s, not %s', name, charge, should_say) as fault
   from answered where charge is distinct from should_say`,

  `select format('%s was charged %s times', name, count(c)) as fault
   from answered a left join charges c on c.search_id = a.request_id
   where should_say like '0.01%' group by name, a.request_id having count(c) <> 1`,
  `select format('%s was charged to another wallet or not one cent', name) as fault
   from answered a join charges c on c.search_id = a.request_id
   where should_say like '0.01%' and (c.wallet_id <> a.wallet_id or c.amount_micros <> 10000)`,
  `select format('%s was charged', name) as fault
   from answered a join charges c on c.search_id = a.request_id where should_say like '0.00%'`,
  `select format('%s is %s in the ledger', name, coalesce(s.state::text, 'unknown')) as fault
   from answered a left join pb.searches s on s.id = a.request_id
   where case when should_say like '0.01%' then s.state is distinct from 'captured'
     else s.state in ('captured', 'pending') end`,

  ...walletSums("credits", "credited_micros", "to_account"),
  ...walletSums("debits", "debited_micros", "from_account"),
  `select format('wallet %s is below zero', id) as fault from pb.wallets
   where credited_micros - debited_micros - held_micros < 0`,
  `select format('wallet %s still holds %s', id, held_micros) as fault from pb.wallets where held_micros <> 0`,
  `select format('search %s is still pending', id) as fault from pb.searches where state = 'pending'`,
  `select format('captured search %s has not one charge', s.id) as fault
   from pb.searches s left join charges c on c.search_id = s.id
   where s.state = 'captured' and s.price_micros > 0 group by s.id having count(c) <> 1`,
  `select format('wallet %s has %s captured searches and %s charges', id, searches, charges) as fault
   from pb.wallets w
     left join (select wallet_id as id, count(*) as searches from pb.searches
       where state = 'captured' and price_micros > 0 group by 1) s using (id)
     left join (select wallet_id as id, count(*) as charges from charges group by 1) c using (id)
   where coalesce(searches, 0) <> coalesce(charges, 0)`,

  // Whoever saw nothing may have been charged; nobody else. With a key and without are different callers.
  `select format('wallet %s has %s charges for %s closed connections (key: %s)',
     wallet_id, found, coalesce(closed, 0), has_key) as fault
   from (select wallet_id, has_key, count(*) as found from strays group by 1, 2) f
     left join (select wallet_id, idempotency_key is not null as has_key, count(*) as closed
       from seen where kind = 'closed' group by 1, 2) c using (wallet_id, has_key)
   where found > coalesce(closed, 0)`,

  `select format('Idempotency-Key with HMAC %s was charged %s times', encode(idempotency_hmac, 'hex'), count(*)) as fault
   from pb.searches where state = 'captured' and idempotency_hmac is not null
   group by wallet_id, mode, idempotency_hmac having count(*) > 1`,
  `select format('Idempotency-Key %s was told %s times that it paid', idempotency_key, count(*)) as fault
   from answered where idempotency_key is not null and charge like '0.01%' and status = 200
   group by wallet_id, idempotency_key having count(*) > 1`,
  `select format('Idempotency-Key %s got two answers', idempotency_key) as fault
   from answered where idempotency_key is not null and status = 200
   group by wallet_id, idempotency_key having count(distinct answer) > 1`,
  `select case when coalesce(paid, 0) < fewest
       then format('wallet %s: %s keys answered, %s charged', wallet_id, fewest, coalesce(paid, 0))
       else format('wallet %s: %s keys could be charged, %s were', wallet_id, most, paid) end as fault
   from (
     select wallet_id, count(*) filter (where is_answered) as fewest,
       count(*) filter (where is_answered or is_closed) as most
     from (
       select wallet_id, idempotency_key, bool_or(kind = 'answered' and status = 200) as is_answered,
         bool_or(kind = 'closed') as is_closed
       from seen where idempotency_key is not null group by 1, 2
     ) keys group by 1
   ) k
   left join (
     select wallet_id, count(*) as paid from pb.searches
     where state = 'captured' and idempotency_hmac is not null and mode = 'live' group by 1
   ) p using (wallet_id)
   where coalesce(paid, 0) not between fewest and most`,
];

/** What a wallet says of itself and what its transfers say. */
function walletSums(verb: string, column: string, account: string): string[] {
  return [
    `select format('wallet %s ${verb} %s, its transfers %s', w.id, w.${column}, coalesce(t.micros, 0)) as fault
     from pb.wallets w left join (
       select wallet_id as id, sum(amount_micros) as micros from pb.transfers where ${account} = 'wallet' group by 1
     ) t using (id)
     where w.${column} <> coalesce(t.micros, 0)`,
  ];
}

export const auditCounts = `
  select
    count(*) filter (where kind = 'answered' and charge like '0.01%') as charged,
    count(*) filter (where kind = 'answered' and is_replayed) as replayed,
    count(*) filter (where kind = 'answered' and status <> 200) as errors,
    (select count(*) from strays) as "closedCharged",
    count(*) filter (where kind = 'closed') - (select count(*) from strays) as "closedFree"
  from seen`;
