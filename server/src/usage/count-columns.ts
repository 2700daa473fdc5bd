/**
 * SQL for the number of requests of each kind, over rows of pb.usage_hours or pb.usage_days. Every figure of searches,
 * replays and refusals comes from here or from the ledger.
 */
export const countColumns = `coalesce(sum(searches) filter (where was_held), 0)::float8 as searches,
  coalesce(sum(searches) filter (where not was_held and outcome = 'replayed'), 0)::float8 as replays,
  coalesce(sum(searches) filter (where not was_held and outcome <> 'replayed'), 0)::float8 as refusals`;
