-- The cell of this database, and the labels of accounts. The label is part of every key of the account, so that a proxy in
-- front of several cells can route a request without knowing the account. It never changes.

-- Returns the label of the wallet's account, or NULL if the database belongs to no named cell. The label is assigned with the first
-- key that is created after the cell was named.
create or replace function pb.label_account(p_wallet uuid) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  cell text := (select c.name from pb.cell c);
  owner uuid := (select w.account_id from pb.wallets w where w.id = p_wallet);
  found_label text;
  candidate text;
begin
  if cell is null then
    return (select a.label from pb.accounts a where a.id = owner);
  end if;
  -- If two first keys of the account are created at the same time, both get the same label.
  select a.label into found_label from pb.accounts a where a.id = owner for no key update;
  if found_label is not null then
    return found_label;
  end if;
  loop
    candidate := cell || left(gen_random_uuid()::text, 7);
    exit when not exists (select from pb.accounts a where a.label = candidate);
  end loop;
  update pb.accounts a set label = coalesce(a.label, candidate) where a.id = owner returning a.label into found_label;
  return found_label;
end
$$;

create or replace function pb.label_own_account() returns text
language sql security definer set search_path = pg_catalog, pg_temp
return pb.label_account(pb.own_wallet());
