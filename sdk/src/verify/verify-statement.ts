// Recomputes the digests of a wallet's closed hours from its exported entries, and compares them with a signed root. Uses
// no network and trusts nothing but the keys. docs/receipts.md describes the format.

import type { InclusionProof, WalletProof } from "../api.ts";
import type { ReceiptClaims } from "./evidence.ts";
import { type LedgerRow, parseStatement } from "./parse-statement.ts";
import { type Jwks, verifyJws } from "./verify-jws.ts";

export interface VerifyStatementOptions {
  /** The CSV of `GET /v1/wallet/entries.csv`: all entries up to now, from the first one or from `since`. */
  csv: string;
  /** The proof of `GET /v1/wallet/proof`. */
  proof: WalletProof;
  /** The keys of `/.well-known/jwks.json`, which you have stored or compared. */
  jwks: Jwks;
  /** The result of an earlier verification. Entries up to its hour need not be exported again. */
  since?: { hour: string; digest: string };
  /** A root that you stored or read elsewhere, of the proof's hour ("2026-11-16T05:00:00Z") or day ("2026-11-16"). */
  root?: { of: string; root: string };
  /** Verified receipts. Each of their entries must be in the export, unchanged. */
  receipts?: readonly ReceiptClaims[];
}

export type StatementFault =
  /** The CSV or the proof cannot be read. */
  | "malformed"
  /** The amount or the balance of a line contradicts its other columns. */
  | "inconsistent_entry"
  /** The export lacks an entry of a receipt, or has it with other values. */
  | "receipt_mismatch"
  /** The export has entries in a closed hour that the proof does not cover. */
  | "uncovered_entries"
  /** The entries do not have the digest of the proof: entries were changed, added, removed or reordered. */
  | "wrong_digest"
  /** The digest is not part of the signed root. */
  | "wrong_root"
  | "wrong_signature"
  /** The signed root is not the one given as `root`. */
  | "other_root";

export type VerifiedStatement =
  | {
      ok: true;
      /** The last verified hour and the digest of all entries up to it. Pass both as `since` next time. */
      hour: string;
      digest: string;
      root: string;
      /** Entries that are part of the root. */
      entries: number;
      /** Entries of hours that are not closed yet. */
      openEntries: number;
    }
  | { ok: false; reason: StatementFault; detail: string };

class Fault extends Error {
  declare readonly reason: StatementFault;

  constructor(reason: StatementFault, detail: string) {
    super(detail);
    this.reason = reason;
  }
}

/** Verifies a wallet's entries against a signed root. The result names the first check that failed. */
export async function verifyStatement(options: VerifyStatementOptions): Promise<VerifiedStatement> {
  try {
    return await verify(options);
  } catch (error) {
    if (error instanceof Fault) return { ok: false, reason: error.reason, detail: error.message };
    throw error;
  }
}

async function verify({ csv, proof, jwks, since, root, receipts = [] }: VerifyStatementOptions) {
  const rows = parseStatement(csv);
  if (typeof rows === "string") throw new Fault("malformed", rows);
  checkAmounts(rows);
  checkReceipts(rows, receipts, since?.hour);
  const isCovered = ({ created_at: at }: LedgerRow): boolean => hourOf(at) <= proof.hour;
  const late = rows.find((row) => !isCovered(row) && row.created_at < proof.complete_until);
  if (late) throw new Fault("uncovered_entries", `The entry ${late.id} is in a closed hour after ${proof.hour}.`);
  const covered = rows.filter((row) => isCovered(row) && (!since || hourOf(row.created_at) > since.hour));
  const digest = await digestOf(covered, proof.wallet_id, since?.digest);
  if (digest !== proof.digest) {
    const detail = `The ${covered.length} entries up to ${proof.hour} do not have the digest of the proof.`;
    throw new Fault("wrong_digest", detail);
  }
  const signedRoot = await verifyRoots(proof, jwks, root);
  const openEntries = rows.filter((row) => !isCovered(row)).length;
  return { ok: true as const, hour: proof.hour, digest, root: signedRoot, entries: covered.length, openEntries };
}

/** "2026-11-16T05:12:34.567890Z" -> "2026-11-16T05:00:00Z" */
function hourOf(createdAt: string): string {
  return `${createdAt.slice(0, 13)}:00:00Z`;
}

function checkAmounts(rows: readonly LedgerRow[]): void {
  for (const [index, row] of rows.entries()) {
    const sign = Number(row.to_account === "wallet") - Number(row.from_account === "wallet");
    const isRightAmount = row.amount === BigInt(sign) * row.amount_micros;
    const before = rows[index - 1];
    const isRightBalance = before === undefined || before.balance + row.amount === row.balance;
    if (!isRightAmount || !isRightBalance)
      throw new Fault("inconsistent_entry", `The amount or the balance of the entry ${row.id} is wrong.`);
  }
}

function checkReceipts(rows: readonly LedgerRow[], receipts: readonly ReceiptClaims[], since = ""): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const entry of receipts.flatMap((receipt) => receipt.entries)) {
    if (hourOf(entry.created_at) <= since) continue;
    const row = byId.get(entry.id);
    if (row?.created_at === entry.created_at && row.kind === entry.kind && row.amount_text === entry.amount) continue;
    throw new Fault("receipt_mismatch", `The entry ${entry.id} of a receipt is missing, or has other values.`);
  }
}

/** The chain over all hours: sha256(previous digest || "<hour> <number of entries>\n" || one line per entry). */
async function digestOf(rows: readonly LedgerRow[], walletId: string, previous = "00".repeat(32)): Promise<string> {
  const hours = new Map<string, LedgerRow[]>();
  for (const row of rows) {
    const hour = hourOf(row.created_at);
    const found = hours.get(hour);
    if (found) found.push(row);
    else hours.set(hour, [row]);
  }
  let digest = fromHex(previous);
  for (const [hour, entries] of [...hours].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const inOrder = entries.sort((a, b) => (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? -1 : 1));
    const lines = inOrder.map((row) => formatRow(row, walletId)).join("");
    digest = await sha256(digest, new TextEncoder().encode(`${hour} ${entries.length}\n${lines}`));
  }
  return toHex(digest);
}

function formatRow(row: LedgerRow, walletId: string): string {
  const kind = row.kind === "search" ? "capture" : row.kind;
  const { id, from_account: from, to_account: to, amount_micros: amount, created_at: at, request_id: search } = row;
  return `${id} ${walletId} ${kind} ${from} ${to} ${amount} ${at} ${search || "-"}\n`;
}

/** Verifies the path from the digest to the root of the hour, and on to that of the day. Returns the hour's root. */
async function verifyRoots(proof: WalletProof, jwks: Jwks, known: VerifyStatementOptions["root"]): Promise<string> {
  const { wallet_id: walletId, hour, in_hour: inHour, in_day: inDay } = proof;
  const leaf = joinBytes(fromHex(walletId.replaceAll("-", "")), fromHex(proof.digest));
  const hourRoot = await rootAt(leaf, inHour);
  const hourClaims = await verifyRoot(inHour, "pennyblack-hour", jwks);
  // The last leaf is the digest of the operator's records.
  const treeSize = Number(hourClaims["wallets"]) + 1;
  if (hourClaims["root"] !== hourRoot || hourClaims["hour"] !== hour || treeSize !== inHour.tree_size)
    throw new Fault("wrong_root", `The digest is not part of the signed root of ${hour}.`);
  const roots = new Map([[hour, hourRoot]]);
  if (inDay) {
    const day = hour.slice(0, 10);
    const dayRoot = await rootAt(fromHex(hourRoot), inDay);
    const dayClaims = await verifyRoot(inDay, "pennyblack-day", jwks);
    if (dayClaims["root"] !== dayRoot || dayClaims["day"] !== day || dayClaims["hours"] !== inDay.tree_size)
      throw new Fault("wrong_root", `The root of ${hour} is not part of the signed root of ${day}.`);
    roots.set(day, dayRoot);
  }
  if (known && roots.get(known.of) !== known.root.toLowerCase())
    throw new Fault("other_root", `The root of ${known.of} that you gave is not the signed one, or not of this proof.`);
  return hourRoot;
}

async function verifyRoot({ signed }: InclusionProof, type: string, jwks: Jwks): Promise<Record<string, unknown>> {
  const verified = await verifyJws(signed, type, jwks);
  if (!verified.ok) throw new Fault("wrong_signature", `The signature of a root is not valid: ${verified.reason}.`);
  return verified.payload;
}

/** The root that a leaf leads to (RFC 9162, section 2.1.3.2). */
async function rootAt(leaf: Uint8Array, { leaf_index: index, tree_size: size, path }: InclusionProof): Promise<string> {
  let hash = await sha256(Uint8Array.of(0), leaf);
  let [at, last] = [index, size - 1];
  for (const text of path) {
    const sibling = fromHex(text);
    const isRight = at % 2 === 1 || at === last;
    hash = isRight ? await sha256(Uint8Array.of(1), sibling, hash) : await sha256(Uint8Array.of(1), hash, sibling);
    if (isRight) while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Fault("wrong_root", "The path of the proof does not lead to a root.");
  return toHex(hash);
}

async function sha256(...parts: Uint8Array[]): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joinBytes(...parts)));
}

function joinBytes(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  if (!/^(?:[0-9a-f]{2})+$/.test(text)) throw new Fault("malformed", "The proof contains a value that is not in hex.");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
