/** Formats rows as aligned columns, with an optional heading. */
export function formatTable(rows: readonly (readonly string[])[], heading?: readonly string[]): string {
  const all = heading ? [heading, ...rows] : rows;
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")}`.trimEnd())
    .join("\n");
}
