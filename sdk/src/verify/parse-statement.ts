import { toMicros } from "../money.ts";

/** One line of the exported entries. */
export interface LedgerRow {
  id: string;
  /** With microseconds. */
  created_at: string;
  kind: string;
  amount: bigint;
  amount_text: string;
  balance: bigint;
  request_id: string;
  from_account: string;
  to_account: string;
  amount_micros: bigint;
}

const columns = [
  "created_at",
  "kind",
  "amount",
  "balance",
  "request_id",
  "id",
  "from_account",
  "to_account",
  "amount_micros",
] as const;

const formats = {
  id: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  created_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
  amount: /^-?\d+\.\d{2,6}$/,
  balance: /^-?\d+\.\d{2,6}$/,
  amount_micros: /^\d+$/,
};

/** Parses the CSV of `GET /v1/wallet/entries.csv`. Returns the fault as text if that is not possible. */
export function parseStatement(csv: string): LedgerRow[] | string {
  const [head = "", ...lines] = csv.split(/\r?\n/);
  const names = head.split(",");
  const missing = columns.find((name) => !names.includes(name));
  if (missing) return `The CSV has no column ${missing}.`;
  if (lines.pop() !== "") return "The CSV is incomplete: its last line has no end.";
  const rows: LedgerRow[] = [];
  for (const [index, line] of lines.entries()) {
    const row = parseLine(names, line);
    if (!row) return `Line ${index + 2} of the CSV cannot be read.`;
    rows.push(row);
  }
  return rows;
}

function parseLine(names: readonly string[], line: string): LedgerRow | undefined {
  const cells = line.split(",");
  if (cells.length !== names.length) return undefined;
  const cell = Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ""])) as Record<string, string>;
  const isValid = Object.entries(formats).every(([name, format]) => format.test(cell[name] ?? ""));
  const texts = [cell["kind"], cell["request_id"], cell["from_account"], cell["to_account"]];
  if (!isValid || texts.some((text) => !/^[\w-]*$/.test(text ?? " "))) return undefined;
  return {
    ...(cell as unknown as LedgerRow),
    amount: toMicros(cell["amount"] ?? ""),
    amount_text: cell["amount"] ?? "",
    balance: toMicros(cell["balance"] ?? ""),
    amount_micros: BigInt(cell["amount_micros"] ?? ""),
  };
}
