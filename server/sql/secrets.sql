-- Versions of PENNYBLACK_SECRET. A version is first listed by every process, which then looks values up under it, and
-- becomes the writing version afterwards. Otherwise a server that does not list it would charge a retry again.

-- Records the versions that a process lists, and returns the state. A process must list every required version: the
-- writing one, and for 25 hours the previous ones, under which claims of the last day were written. The row lock makes a
-- process that starts and pb.use_secret wait for each other, so that neither misses the other.
create or replace function pb.report_secrets(
  p_process uuid, p_versions smallint[], p_checks bytea[], p_stopped boolean,
  out writing_version smallint, out check_value bytea, out required smallint[]
)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  select s.writing_version, s.check_value,
    s.writing_version
      || case when s.changed_at > clock_timestamp() - interval '25 hours' then s.previous_versions end
  into writing_version, check_value, required
  from pb.secret_state s for share;
  insert into pb.secret_reports as r (process_id, versions, check_values, seen_at, has_stopped)
  values (p_process, p_versions, p_checks, clock_timestamp(), p_stopped)
  on conflict (process_id) do update
  set versions = excluded.versions, check_values = excluded.check_values, seen_at = excluded.seen_at,
    has_stopped = excluded.has_stopped;
  delete from pb.secret_reports where seen_at < clock_timestamp() - interval '1 day';
end
$$;

-- Makes a version the writing one, unless a process seen within two minutes prevents it; then returns those processes.
-- Only the owner calls it.
create or replace function pb.use_secret(
  p_operator text, p_reason text, p_version smallint, p_check bytea, may_discard boolean
)
returns table (process_id uuid, seen_at timestamptz, reason text)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  since timestamptz := clock_timestamp() - interval '2 minutes';
  previous pb.secret_state;
begin
  select * into previous from pb.secret_state for update;
  return query
  select r.process_id, r.seen_at,
    case when p_version = any (r.versions) then 'different_secret' else 'not_listed' end
  from pb.secret_reports r
  where not r.has_stopped and r.seen_at > since
    and r.check_values[array_position(r.versions, p_version)] is distinct from p_check;
  if found then
    return;
  end if;
  update pb.secret_state s
  set previous_versions = case
        when may_discard then '{}'
        when s.writing_version = p_version then s.previous_versions
        else array_remove(
          case when s.changed_at > clock_timestamp() - interval '25 hours' then s.previous_versions end
            || s.writing_version,
          p_version)
      end,
    changed_at = case when s.writing_version = p_version then s.changed_at else clock_timestamp() end,
    writing_version = p_version, check_value = p_check, changed_by = p_operator;
  perform pb.record_operator_act(
    p_operator, p_reason, 'secret.use', p_version::text,
    p_before => jsonb_build_object('version', previous.writing_version, 'previous', previous.previous_versions),
    p_after => (select jsonb_build_object('version', s.writing_version, 'previous', s.previous_versions) from pb.secret_state s)
  );
end
$$;
