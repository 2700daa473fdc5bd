-- E-mails for the worker. As with webhooks, a claim is a lease: an e-mail that is not marked as sent becomes due again.

-- Claims alert e-mails. The delay grows with each attempt. After six attempts the e-mail is dropped.
create or replace function pb.claim_alert_emails(max_emails integer)
returns table (id uuid, wallet_id uuid, type text, data jsonb, event_at timestamptz, attempt smallint)
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  update pb.events v
  set email_attempts = v.email_attempts + 1,
    email_due_at = clock_timestamp() + (array[2, 10, 60, 360, 1440])[v.email_attempts + 1] * interval '1 minute'
  from (
    select w.id from pb.events w where w.email_due_at <= clock_timestamp()
    order by w.email_due_at limit max_emails for update skip locked
  ) due
  where v.id = due.id
  returning v.id, v.wallet_id, v.type, v.data, v.created_at, v.email_attempts;
end;

-- Claims sign-in and invitation e-mails. Deletes those that are no longer needed: expired or used links, and links requested
-- for an address that is neither known nor invited.
create or replace function pb.claim_sign_in_emails(max_emails integer)
returns table (
  id uuid, email text, sealed bytea, expires_at timestamptz, account_name text, role pb.member_role, attempt smallint
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  delete from pb.pending_emails l using pb.sign_in_tokens t
  where t.digest = l.sign_in_digest and l.due_at <= clock_timestamp() and (
    t.expires_at <= clock_timestamp() or t.used_at is not null
    or not (t.may_sign_up or exists (select from pb.people p where p.email = t.email) or pb.is_invited(t.email))
  );
  delete from pb.pending_emails l using pb.invitations i
  where i.id = l.invitation_id and l.due_at <= clock_timestamp()
    and (i.expires_at <= clock_timestamp() or i.accepted_at is not null);
  return query
  with due as (
    select l.id from pb.pending_emails l where l.due_at <= clock_timestamp()
    order by l.due_at limit max_emails for update skip locked
  ), claimed as (
    update pb.pending_emails l
    set attempts = l.attempts + 1,
      due_at = clock_timestamp() + (array[1, 2, 4, 15, 60])[least(l.attempts + 1, 5)] * interval '1 minute'
    from due where l.id = due.id
    returning l.*
  )
  select c.id, coalesce(t.email, i.email), c.sealed, coalesce(t.expires_at, i.expires_at), a.name, i.role, c.attempts
  from claimed c
  left join pb.sign_in_tokens t on t.digest = c.sign_in_digest
  left join pb.invitations i on i.id = c.invitation_id
  left join pb.accounts a on a.id = i.account_id;
end
$$;

-- Marks an alert e-mail as sent.
create or replace function pb.finish_alert_email(p_event uuid) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  update pb.events e set email_due_at = null where e.id = p_event;
end;

-- Deletes a sign-in or invitation e-mail that was sent.
create or replace function pb.finish_sign_in_email(p_email uuid) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
begin atomic
  delete from pb.pending_emails e where e.id = p_email;
end;
