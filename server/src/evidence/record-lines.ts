import { createHash } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { formatHour, formatMicros } from "./ledger-lines.ts";

// The text that the digests of records are computed from. Like ledger-lines.ts, this is a separate implementation: pb.records
// (server/sql/hours.sql) is the other one.

type Format = "plain" | "text" | "time" | "values";

interface Source {
  name: string;
  table: string;
  at: string;
  columns: Record<string, Format>;
}

const sources: readonly Source[] = [
  {
    name: "change",
    table: "pb.changes",
    at: "at",
    columns: {
      number: "plain",
      id: "plain",
      at: "time",
      actor: "plain",
      operator: "text",
      actor_id: "plain",
      act: "plain",
      subject: "text",
      account_id: "plain",
      wallet_id: "plain",
      reason: "text",
      outcome: "plain",
      values: "values",
      visibility: "plain",
    },
  },
  {
    name: "adjustment",
    table: "pb.adjustments",
    at: "decided_at",
    columns: {
      id: "plain",
      requested_at: "time",
      decided_at: "time",
      kind: "text",
      reference: "text",
      wallet_id: "plain",
      amount_micros: "plain",
      limit_micros: "plain",
      owed_micros: "plain",
      state: "text",
      reason: "text",
      operator: "text",
      approver: "text",
      transfer_id: "plain",
      owed_transfer_id: "plain",
    },
  },
];

/** The lines of each hour of a day. The first closed hour also has the records before it. */
export async function readRecords(
  db: Queryable,
  { day, firstHour }: { day: Date; firstHour: Date },
): Promise<Map<string, string[]>> {
  const since = day <= firstHour ? "-infinity" : day;
  const lines = new Map<string, string[]>();
  for (const source of sources) {
    const { rows } = await db.query<{ at: Date; fields: (string | null)[] }>(
      `select ${source.at} as at, array[${Object.entries(source.columns).map(selectField).join(", ")}] as fields
       from ${source.table} where ${source.at} >= $1 and ${source.at} < $2::timestamptz + interval '1 day'`,
      [since, day],
    );
    for (const { at, fields } of rows) {
      const hourMs = Math.floor(Math.max(at.getTime(), firstHour.getTime()) / 3_600_000) * 3_600_000;
      const hour = formatHour(new Date(hourMs));
      const formats = Object.values(source.columns);
      const line = [source.name, ...fields.map((value, index) => formatField(formats[index], value))].join(" ");
      lines.set(hour, [...(lines.get(hour) ?? []), line]);
    }
  }
  return lines;
}

export function digestRecords(hour: string, previous: Buffer, lines: readonly string[]): Buffer {
  if (lines.length === 0) return previous;
  const text = lines.toSorted().map((line) => `${line}\n`);
  return createHash("sha256")
    .update(previous)
    .update(`${hour} ${lines.length}\n${text.join("")}`)
    .digest();
}

function selectField([column, format]: [string, Format]): string {
  if (format === "values") return selectValues;
  return format === "time" ? `(extract(epoch from ${column}) * 1000000)::bigint::text` : `${column}::text`;
}

interface Values {
  before: string | null;
  after: string | null;
  salt: string | null;
  digest: string | null;
  isDeleted: boolean;
}

const selectValues = `json_build_object(
  'before', before::text, 'after', after::text, 'salt', encode(salt, 'hex'), 'digest', encode(values_digest, 'hex'),
  'isDeleted', exists (select from pb.accounts a where a.id = account_id and a.deleted_at is not null))::text`;

const changed = "values do not match their digest";

/** The digest of the values of a change. The values of a deleted account are erased, and only their digest is left. */
function digestValues({ before, after, salt, digest, isDeleted }: Values): string {
  if (salt !== null) {
    const text = [before, after].map((values) => formatField("text", values)).join(" ");
    const computed = createHash("sha256").update(Buffer.from(salt, "hex")).update(text).digest("hex");
    return computed === digest ? computed : changed;
  }
  if (before !== null || after !== null || (digest !== null && !isDeleted)) return changed;
  return digest ?? "-";
}

/** Text is hexadecimal, so that a line has a fixed number of fields. */
function formatField(format: Format | undefined, value: string | null): string {
  if (value === null) return "-";
  if (format === "values") return digestValues(JSON.parse(value) as Values);
  if (format === "time") return formatMicros(BigInt(value));
  return format === "text" ? `x${Buffer.from(value).toString("hex")}` : value;
}
