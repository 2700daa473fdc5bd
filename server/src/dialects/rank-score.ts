/**
 * The `score` of a result for clients that filter or sort by one: 1 for the first result and 0.05 less for each one after it,
 * so that 20 results stay above 0. It reflects the position instead of a similarity to the query, so it is the same in a replay.
 */
export function rankScore(index: number): number {
  return (20 - index) / 20;
}
