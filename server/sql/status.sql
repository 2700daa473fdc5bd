-- The status page: availability and latency of all wallets together, and incidents.

-- Adds up the last days of usage, because refusals and corrections are counted up to two days later. Deletes days older than 90. Only
-- one worker runs this at a time.
create or replace function pb.count_status() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  first_day date := pb.utc_day(clock_timestamp()) - 89;
  since date;
begin
  perform pg_advisory_xact_lock(hashtext('pb.count_status'));
  since := greatest(first_day, (select max(s.day) - 2 from pb.status_days s));
  insert into pb.status_days as s (day, outcome, requests)
  select u.day, u.outcome, sum(u.searches)::bigint
  from pb.usage_days u where u.day >= since and u.mode = 'live'
  group by u.day, u.outcome
  on conflict (day, outcome) do update set requests = excluded.requests where s.requests <> excluded.requests;
  delete from pb.status_days s where s.day < first_day;
  delete from pb.latency_days l where l.day < first_day;
end
$$;

-- The counts and incidents of the status page. They contain no wallet, key or account, so servers read them without a tenant.
-- Closed incidents are shown as long as the days.
create or replace function pb.read_status() returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  now_at timestamptz := clock_timestamp();
begin
  return jsonb_build_object(
    'now', pb.iso_time(now_at),
    'counted_before', (select pb.iso_time(w.counted_before) from pb.usage_watermark w),
    'server_seen_at', (select pb.iso_time(max(r.seen_at)) from pb.process_reports r where r.kind = 'server'),
    'outcomes', (
      select coalesce(jsonb_agg(jsonb_build_array(s.day, s.outcome, s.requests) order by s.day, s.outcome), '[]')
      from pb.status_days s where s.requests > 0 and s.day > pb.utc_day(now_at) - 90
    ),
    'latencies', (
      select coalesce(
        jsonb_agg(jsonb_build_array(l.day, l.up_to_ms, l.searches, l.slow_searches) order by l.day, l.up_to_ms), '[]'
      )
      from pb.latency_days l where l.searches > 0 and l.day > pb.utc_day(now_at) - 90
    ),
    'incidents', (
      select coalesce(jsonb_agg(pb.describe_incident(i) order by i.opened_at desc, i.id), '[]')
      from pb.incidents i where i.closed_at is null or i.closed_at > now_at - interval '90 days'
    )
  );
end
$$;

create or replace function pb.describe_incident(i pb.incidents) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return jsonb_build_object(
    'id', i.id, 'title', i.title, 'impact', i.impact, 'opened_at', pb.iso_time(i.opened_at),
    'closed_at', pb.iso_time(i.closed_at),
    'updates', (
      select jsonb_agg(jsonb_build_object('at', pb.iso_time(u.at), 'text', u.text) order by u.number)
      from pb.incident_updates u where u.incident_id = i.id
    )
  );
end
$$;

-- An incident may have started before it is reported.
create or replace function pb.open_incident(
  p_operator text, p_reason text, p_id uuid, p_title text, p_impact text, p_text text, p_opened_at timestamptz
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into pb.incidents (id, title, impact, opened_at)
  values (p_id, p_title, p_impact, least(p_opened_at, clock_timestamp()));
  perform pb.report_incident(p_operator, p_reason, 'incident.open', p_id, p_text, null);
end
$$;

-- Adds an update, and changes the impact unless it is NULL, or closes the incident. Returns 'done', 'closed' if it was closed
-- before, or 'not_found'.
create or replace function pb.update_incident(
  p_operator text, p_reason text, p_id uuid, p_impact text, p_text text, is_closing boolean
) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  previous pb.incidents;
begin
  select i.* into previous from pb.incidents i where i.id = p_id for update;
  if not found then
    return 'not_found';
  elsif previous.closed_at is not null then
    return 'closed';
  end if;
  update pb.incidents i
  set impact = coalesce(p_impact, i.impact), closed_at = case when is_closing then clock_timestamp() end
  where i.id = p_id;
  perform pb.report_incident(
    p_operator, p_reason, case when is_closing then 'incident.close' else 'incident.update' end, p_id, p_text,
    jsonb_build_object('title', previous.title, 'impact', previous.impact)
  );
  return 'done';
end
$$;

-- Adds the text to the incident, records the act, and sends an event to each wallet with an endpoint for it.
create or replace function pb.report_incident(
  p_operator text, p_reason text, p_act text, p_id uuid, p_text text, p_before jsonb
) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  i pb.incidents;
begin
  insert into pb.incident_updates (incident_id, text) values (p_id, p_text);
  select f.* into i from pb.incidents f where f.id = p_id;
  perform pb.record_operator_act(
    p_operator, p_reason, p_act, p_id::text, p_before => p_before,
    p_after => jsonb_build_object('title', i.title, 'impact', i.impact, 'text', p_text)
  );
  perform pb.emit_event(
    e.wallet_id, 'service.incident',
    jsonb_build_object(
      'incident_id', i.id, 'title', i.title, 'impact', i.impact, 'text', p_text, 'opened_at', pb.iso_time(i.opened_at),
      'closed_at', pb.iso_time(i.closed_at)
    )
  )
  from (
    select distinct w.wallet_id from pb.webhook_endpoints w
    where w.disabled_at is null and 'service.incident' = any (w.events) order by w.wallet_id
  ) e;
end
$$;
