/** A page of a list of which one row more was read than `most`: that one tells whether there is a next page. */
export function cutPage<Row>(
  found: readonly Row[],
  most: number,
  cursorOf: (last: Row) => string,
): { rows: Row[]; nextCursor: string | null } {
  const rows = found.slice(0, most);
  const last = rows.at(-1);
  return { rows, nextCursor: found.length > most && last !== undefined ? cursorOf(last) : null };
}
