/** RFC 4180. A cell that a spreadsheet would run as a formula is kept from it by an apostrophe; plain numbers are not. */
export function toCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(toCell).join(",")}\r\n`).join("");
}

function toCell(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
