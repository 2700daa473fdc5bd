/** Builds a page from a query for `limit + 1` rows: the extra row shows that there is a next page. */
export function paginate<Row>(
  found: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => string,
): { rows: Row[]; nextCursor: string | null } {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > limit && last !== undefined ? cursorOf(last) : null };
}
