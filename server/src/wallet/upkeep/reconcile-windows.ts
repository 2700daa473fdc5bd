// Checks of budgets and runs, for both passes. As in reconcile.ts, each row is (subject, expected, actual). Test windows are
// not checked, because their searches are deleted after three days.

/** Windows that ended over an hour ago are about to be deleted, and the days of their searches may be archived. */
const openWindows = `(
  select * from pb.budget_windows where mode = 'live' and (resets_at is null or resets_at > now() - interval '1 hour')
)`;

/** `sums`: the table with the amounts of the searches that are not among `searches`. */
export function windowChecks(searches: string, sums: "window_checkpoints" | "window_openings") {
  return [
    {
      name: "windows",
      sentence:
        "The amount spent in every window of a budget or run equals the sum of its pending and captured searches.",
      sql: `
        select w.id, coalesce(c.micros, 0) + coalesce(s.micros, 0), w.spent_micros
        from ${openWindows} w
        left join pb.${sums} c on c.window_id = w.id
        left join (
          select n.id, sum(s.price_micros) as micros from ${searches} s cross join lateral unnest(s.window_ids) as n (id)
          where s.state in ('pending', 'captured') and s.price_micros > 0 group by n.id
        ) s on s.id = w.id`,
    },
    {
      // A clock that was ahead leaves such a window. It is not reset before its end. The minute is for the clock of another
      // host: the window was opened by the primary of that moment.
      name: "window ends",
      sentence: "No window of a budget ends after the current day or month.",
      sql: `
        select w.id, 'in time', case
          when w.resets_at at time zone 'utc' <= date_trunc(
            b.period, (clock_timestamp() + interval '1 minute') at time zone 'utc'
          ) + ('1 ' || b.period)::interval then 'in time'
          else 'too late' end
        from ${openWindows} w join pb.budgets b on b.id = w.budget_id and b.period is not null`,
    },
  ];
}
