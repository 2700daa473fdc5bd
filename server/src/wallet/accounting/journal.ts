import type { Queryable } from "../../db/pool.ts";
import { csvLine } from "../../lib/csv-line.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import { formatUsd, type Micros } from "../../lib/money.ts";
import { type AccountTotals, readTrialBalance } from "./months.ts";

// The journal of a month for accounting software: the opening balances, then each day. The searches of a day are one
// entry, because their number would make the file unusable. Every other transfer is a separate entry.

interface JournalEntry {
  /** Such as "2026-10-31". */
  day: string;
  kind: string;
  debit: string;
  credit: string;
  amount: Micros;
  /** The number of searches in an entry of captures; 1 for others. */
  count: number;
  id: string | null;
  walletId: string | null;
  /** The payment or adjustment that the transfer belongs to. */
  reference: string | null;
}

/** Yields the text in parts, one day at a time. Runs as the operator. */
export async function* writeJournal(db: Queryable, month: string, format: "csv" | "hledger"): AsyncGenerator<string> {
  const first = new Date(`${month}-01T00:00:00Z`);
  const opening = await readTrialBalance(db, monthBefore(first));
  const writer = format === "csv" ? csv : createHledgerWriter(opening.accounts);
  yield writer.head(month, opening.accounts);
  const next = new Date(first);
  next.setUTCMonth(first.getUTCMonth() + 1);
  for (let day = first; day < next; day = new Date(day.getTime() + dayMs)) {
    let text = "";
    for (const entry of await readDay(db, day)) text += writer.entry(entry);
    yield text;
  }
}

const dayMs = 86_400_000;

function monthBefore(first: Date): string {
  return new Date(first.getTime() - dayMs).toISOString().slice(0, 7);
}

/** A transfer counts at created_at. Its id is at most a day off. */
async function readDay(db: Queryable, day: Date): Promise<JournalEntry[]> {
  const end = new Date(day.getTime() + dayMs);
  const ids = [firstIdOf(new Date(day.getTime() - dayMs)), firstIdOf(new Date(end.getTime() + dayMs))];
  const { rows } = await db.query<Omit<JournalEntry, "day">>(
    `with entries as materialized (
       select t.id, t.wallet_id, t.kind, t.from_account, t.to_account, t.amount_micros from pb.transfers t
       where t.kind <> 'capture' and t.id >= $1 and t.id < $2 and t.created_at >= $3 and t.created_at < $4
     )
     select 'capture' as kind, 'wallet' as debit, 'revenue' as credit, sum(t.amount_micros)::bigint as amount,
       count(*)::integer as count, null as id, null as "walletId", null as reference
     from pb.transfers t
     where t.kind = 'capture' and t.id >= $1 and t.id < $2 and t.created_at >= $3 and t.created_at < $4
     having count(*) > 0
     union all
     (select e.kind::text, e.from_account::text, e.to_account::text, e.amount_micros, 1, e.id::text, e.wallet_id::text,
       coalesce(p.payment_id, a.reference)
     from entries e
     left join pb.payments p on p.transfer_id = e.id
     left join pb.adjustments a on e.id in (a.transfer_id, a.owed_transfer_id)
     order by e.id)`,
    [...ids, day, end],
  );
  return rows.map((row) => ({ ...row, day: day.toISOString().slice(0, 10) }));
}

interface Writer {
  head(month: string, opening: readonly AccountTotals[]): string;
  entry(entry: JournalEntry): string;
}

const csv: Writer = {
  head: (month, opening) =>
    csvLine(["date", "kind", "debit", "credit", "amount", "currency", "count", "id", "wallet_id", "reference"]) +
    opening
      .filter(({ debit, credit }) => debit !== credit)
      .map(({ account, debit, credit }) => {
        const legs = debit > credit ? [account, ""] : ["", account];
        const amount = debit > credit ? debit - credit : credit - debit;
        return csvLine([`${month}-01`, "opening", ...legs, formatUsd(amount), "usd", "1", "", "", ""]);
      })
      .join(""),
  entry: ({ day, kind, debit, credit, amount, count, id, walletId, reference }) =>
    csvLine([
      day,
      kind,
      debit,
      credit,
      formatUsd(amount),
      "usd",
      String(count),
      id ?? "",
      walletId ?? "",
      reference ?? "",
    ]),
};

const hledgerTypes = {
  asset: { parent: "assets", letter: "A" },
  liability: { parent: "liabilities", letter: "L" },
  income: { parent: "income", letter: "R" },
  expense: { parent: "expenses", letter: "X" },
};

/** The account's name in hledger, such as assets:cash. */
export function hledgerName({ account, type }: Pick<AccountTotals, "account" | "type">): string {
  return `${hledgerTypes[type].parent}:${account}`;
}

/** In hledger, a debit is positive and a credit negative. */
function createHledgerWriter(accounts: readonly AccountTotals[]): Writer {
  const names = new Map(accounts.map((each) => [each.account, hledgerName(each)]));
  const posting = (account: string, amount: Micros): string => `    ${names.get(account)}  ${formatUsd(amount)} USD\n`;
  return {
    head: (month, opening) => {
      const open = opening.filter(({ debit, credit }) => debit !== credit);
      const directives = accounts.map(
        (each) => `account ${hledgerName(each)}  ; type:${hledgerTypes[each.type].letter}, code:${each.code}\n`,
      );
      return [
        `; Journal for ${month}. Searches are summed per UTC day.\n`,
        "commodity 1000.000000 USD\n\n",
        ...directives,
        open.length === 0 ? "" : `\n${month}-01 * opening balances\n`,
        ...open.map(({ account, debit, credit }) => posting(account, debit - credit)),
      ].join("");
    },
    entry: ({ day, kind, debit, credit, amount, count, id, walletId, reference }) => {
      const tags = [
        ...(id === null ? [`searches:${count}`] : [`id:${id}`, `wallet:${walletId}`]),
        ...(reference === null ? [] : [`reference:${reference.replace(/[\p{Cc},]/gu, " ")}`]),
      ];
      const title = `\n${day} * ${kind}  ; ${tags.join(", ")}\n`;
      return title + posting(debit, amount) + posting(credit, -amount);
    },
  };
}
