/**
 * One line of RFC 4180. A cell that a spreadsheet would run as a formula is made text by an apostrophe; a plain number
 * stays a number, though a minus begins it.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const isFormula = /^[=+\-@\t\r\n|]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
