import { createHash } from "node:crypto";
import type { Queryable } from "../../src/db/pool.ts";
import { firstDigest, formatEntry, type LedgerEntry } from "../../src/evidence/ledger-lines.ts";
import { buildLevels, hashLeaf, hashRecordsLeaf, hashWalletLeaf, pathOf, rootOf } from "../../src/evidence/merkle.ts";
import { formatUsd } from "../../src/lib/money.ts";

// A ledger in memory: its rows, and the digests and roots that the database would have for them. Tests use it as the
// attacker who recomputes everything except the signatures, and as the customer's copy.

export interface Digest {
  walletId: string;
  digest: Buffer;
  entries: LedgerEntry[];
}

export interface HourOfLedger {
  hour: string;
  /** In the order of the wallet ids. */
  digests: Digest[];
  levels: Buffer[];
  root: Buffer;
}

export async function readRows(db: Queryable): Promise<LedgerEntry[]> {
  const { rows } = await db.query<LedgerEntry>(
    `select id, wallet_id as "walletId", kind, from_account as "fromAccount", to_account as "toAccount",
       amount_micros as "amountMicros", (extract(epoch from created_at) * 1000000)::bigint as "createdAtMicros",
       search_id as "searchId"
     from pb.transfers order by id`,
  );
  return rows;
}

export function hourOf({ createdAtMicros }: LedgerEntry): string {
  const hourMs = Number(createdAtMicros / 3_600_000_000n) * 3_600_000;
  return new Date(hourMs).toISOString().replace(".000", "");
}

/** The evidence for these rows. `hours`: every closed hour, oldest first. */
export function computeHours(rows: readonly LedgerEntry[], hours: readonly string[]): HourOfLedger[] {
  const byHour = Map.groupBy(rows, hourOf);
  const heads = new Map<string, Buffer>();
  return hours.map((hour) => {
    const wallets = [...Map.groupBy(byHour.get(hour) ?? [], ({ walletId }) => walletId)];
    const digests = wallets
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([walletId, found]) => {
        const entries = found.toSorted(
          (a, b) => Number(a.createdAtMicros - b.createdAtMicros) || (a.id < b.id ? -1 : 1),
        );
        const digest = createHash("sha256")
          .update(heads.get(walletId) ?? firstDigest)
          .update(`${hour} ${entries.length}\n${entries.map(formatEntry).join("")}`)
          .digest();
        heads.set(walletId, digest);
        return { walletId, digest, entries };
      });
    const leaves = digests.map(({ walletId, digest }) => hashWalletLeaf(walletId, digest));
    // These ledgers have no records.
    const levels = buildLevels([...leaves, hashRecordsLeaf(firstDigest)]);
    return { hour, digests, levels, root: rootOf(levels) };
  });
}

/** The wallet's export, as GET /v1/wallet/entries.csv writes it. */
export function toCsv(rows: readonly LedgerEntry[], walletId: string): string {
  const lines = ["created_at,kind,amount,balance,currency,request_id,id,from_account,to_account,amount_micros"];
  let balance = 0n;
  for (const row of rows.filter((entry) => entry.walletId === walletId).toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const sign = BigInt(row.toAccount === "wallet") - BigInt(row.fromAccount === "wallet");
    balance += sign * row.amountMicros;
    const [id, , kind, from, to, micros, at, search] = formatEntry(row).trim().split(" ");
    const publicKind = kind === "capture" ? "search" : kind;
    const amount = formatUsd(sign * row.amountMicros);
    const request = search === "-" ? "" : search;
    lines.push([at, publicKind, amount, formatUsd(balance), "usd", request, id, from, to, micros].join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** The wallet's proof for its last hour, with the signatures of `signed`. Undefined without entries. */
export function toProof(hours: readonly HourOfLedger[], walletId: string, signed: ReadonlyMap<string, string>) {
  const last = hours.findLast(({ digests }) => digests.some((digest) => digest.walletId === walletId));
  if (!last) return undefined;
  const leafIndex = last.digests.findIndex((digest) => digest.walletId === walletId);
  const day = last.hour.slice(0, 10);
  const dayHours = hours.filter(({ hour }) => hour.startsWith(day));
  const dayLevels = buildLevels(dayHours.map(({ root }) => hashLeaf(root)));
  const place = (levels: Buffer[], index: number, size: number, of: string) => ({
    leaf_index: index,
    tree_size: size,
    path: pathOf(levels, index).map((hash) => hash.toString("hex")),
    signed: signed.get(of) ?? "",
  });
  const closedBefore = new Date(Date.parse(hours.at(-1)?.hour ?? "") + 3_600_000).toISOString().replace(".000", "");
  return {
    wallet_id: walletId,
    hour: last.hour,
    complete_until: closedBefore,
    digest: last.digests[leafIndex]?.digest.toString("hex") ?? "",
    in_hour: place(last.levels, leafIndex, last.digests.length + 1, last.hour),
    in_day: signed.has(day) ? place(dayLevels, dayHours.indexOf(last), dayHours.length, day) : null,
  };
}
