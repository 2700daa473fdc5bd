/**
 * One line of RFC 4180. An apostrophe turns a cell that a spreadsheet would run as a formula into text. Plain numbers are
 * unchanged, even with a leading minus.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  const isFormula = /^[=+\-@\t\r\n|]/.test(text) && !/^-?\d+(?:\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
