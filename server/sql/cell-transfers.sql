-- Transfers of a balance between cells. The source books the amount out and signs a document, and the target books it in from
-- that document: `npm run admin -- transfer`. Both are adjustments (accounting.sql), so each is booked once, and above the
-- limit a second operator approves it in the source. No statement spans two databases.

-- Books one side of a transfer. An amount of NULL means the available balance. The document proves that the transfer was approved
-- in the source, and is recorded as the approver. Without it, the amount can need approval. Repeating a transfer returns the
-- first result.
create or replace function pb.operator_transfer(
  p_operator text, p_reason text, p_kind text, p_source text, p_reference text, p_target text, p_wallet uuid,
  p_target_wallet uuid, p_amount bigint, has_document boolean
) returns table (outcome text, adjustment_id uuid, amount_micros bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  own_cell text := case p_kind when 'transfer_out' then p_source when 'transfer_in' then p_target end;
  own_reference text := case p_kind when 'transfer_in' then p_source || ':' else '' end || p_reference;
  known pb.adjustments;
begin
  -- In the same order as pb.operator_adjust.
  perform from pb.approval_limit for update;
  perform pb.lock_wallets(array[p_wallet]);
  select * into known from pb.adjustments a
  where a.kind = p_kind and a.reference = own_reference and a.state <> 'rejected';
  adjustment_id := known.id;
  amount_micros := coalesce(p_amount, known.amount_micros, (
    select w.credited_micros - w.debited_micros - w.held_micros from pb.wallets w where w.id = p_wallet
  ));
  outcome := case
    when own_cell is distinct from (select c.name from pb.cell c) then 'other_cell'
    when not exists (select from pb.wallets w where w.id = p_wallet) or pb.is_deleted(p_wallet) then 'unknown_wallet'
    when known.id is null then null
    when (known.wallet_id, known.amount_micros) is distinct from (p_wallet, amount_micros)
      or not exists (
        select from pb.cell_transfers t
        where t.adjustment_id = known.id and t.target_cell = p_target and t.target_wallet_id = p_target_wallet
      ) then 'conflicting'
    when known.state = 'requested' then 'requested'
    else 'repeated'
  end;
  if outcome is null and amount_micros = 0 then
    outcome := 'insufficient_balance';
  elsif outcome is null then
    begin
      insert into pb.adjustments as a
        (kind, reference, wallet_id, amount_micros, limit_micros, reason, operator, approver)
      select p_kind, own_reference, p_wallet, amount_micros, l.limit_micros, p_reason, p_operator,
        case when has_document then 'document' end
      from pb.approval_limit l
      returning a.id into adjustment_id;
      insert into pb.cell_transfers (adjustment_id, source_cell, reference, target_cell, target_wallet_id)
      values (adjustment_id, p_source, p_reference, p_target, p_target_wallet);
      outcome := 'requested';
      if has_document or not pb.needs_approval(p_operator, p_kind, amount_micros) then
        perform pb.book_adjustment(adjustment_id);
        outcome := 'booked';
      end if;
    exception when sqlstate 'PB010' then
      outcome := sqlerrm;
      adjustment_id := null;
    end;
  end if;
  perform pb.record_operator_act(
    p_operator, p_reason, 'adjustment.request', own_reference, p_wallet, outcome,
    p_after => jsonb_build_object('kind', p_kind, 'amount', pb.usd(amount_micros), 'adjustment', adjustment_id,
      'source', p_source, 'target', p_target, 'target_wallet', p_target_wallet)
  );
  return next;
end
$$;
