import { type Static, Type } from "typebox";
import { Check } from "typebox/value";
import type { Queryable } from "../../db/pool.ts";
import { queryFenced } from "../../db/query-fenced.ts";
import { formatUsd, type Micros, parseUsd } from "../../lib/money.ts";
import { type Jwks, type Signer, verifyJws } from "../../lib/sign-jws.ts";

// Transfers of a balance to another cell, as described in server/sql/cell-transfers.sql. The signed document connects both sides.

const cell = Type.String({ pattern: "^[a-z0-9]{3}$" });
const documentSchema = Type.Object({
  source: cell,
  /** Unique in the source. */
  reference: Type.String({ pattern: "^[A-Za-z0-9._-]{1,100}$" }),
  sourceWallet: Type.String(),
  target: cell,
  targetWallet: Type.String(),
  /** In USD. */
  amount: Type.String({ pattern: "^\\d+\\.\\d{2,6}$" }),
});

export type TransferDocument = Static<typeof documentSchema>;

/** Ed25519 signatures are deterministic, so signing again gives the same document. */
export function signTransfer(signer: Signer, document: TransferDocument): Promise<string> {
  return signer.sign("pennyblack-transfer", document);
}

/** Undefined if the document was changed, or was signed with another key. */
export async function readTransferDocument(text: string, jwks: Jwks): Promise<TransferDocument | undefined> {
  const payload = await verifyJws(text.trim(), "pennyblack-transfer", jwks);
  return Check(documentSchema, payload) ? payload : undefined;
}

export interface TransferRequest extends Omit<TransferDocument, "amount"> {
  kind: "transfer_out" | "transfer_in";
  operator: string;
  reason: string;
  /** Undefined: the available balance. */
  amount?: Micros | undefined;
  /** A document proves that the source has approved it. */
  hasDocument: boolean;
}

export type TransferOutcome =
  | "booked"
  /** A second operator must approve it. */
  | "requested"
  | "repeated"
  | "conflicting"
  | "other_cell"
  | "unknown_wallet"
  | "wallet_suspended"
  | "wallet_owes"
  | "insufficient_balance";

export interface Transfer {
  outcome: TransferOutcome;
  adjustmentId: string | null;
  amount: Micros | null;
}

export async function bookTransfer(db: Queryable, request: TransferRequest): Promise<Transfer> {
  const { kind, operator, reason, source, reference, target, sourceWallet, targetWallet, amount, hasDocument } =
    request;
  const { rows } = await queryFenced<Transfer>(
    db,
    `select outcome, adjustment_id as "adjustmentId", amount_micros as amount
     from pb.operator_transfer($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      operator,
      reason,
      kind,
      source,
      reference,
      target,
      kind === "transfer_out" ? sourceWallet : targetWallet,
      targetWallet,
      amount ?? null,
      hasDocument,
    ],
  );
  const [row] = rows;
  if (!row) throw new Error("pb.operator_transfer returned no row");
  return row;
}

/** A booked side of a transfer. */
export interface TransferSide {
  kind: TransferRequest["kind"];
  source: string;
  reference: string;
  target: string;
  targetWallet: string;
  /** In USD. */
  amount: string;
  at: string;
}

/** All booked transfers, oldest first. */
export async function listTransfers(db: Queryable): Promise<TransferSide[]> {
  const { rows } = await db.query<Omit<TransferSide, "amount" | "at"> & { amount: Micros; at: Date }>(
    `select a.kind, t.source_cell as source, t.reference, t.target_cell as target, t.target_wallet_id as "targetWallet",
       a.amount_micros as amount, a.requested_at as at
     from pb.cell_transfers t join pb.adjustments a on a.id = t.adjustment_id
     where a.state = 'booked' order by a.requested_at`,
  );
  return rows.map(({ amount, at, ...side }) => ({ ...side, amount: formatUsd(amount), at: at.toISOString() }));
}

export function amountOf({ amount }: TransferDocument): Micros {
  return parseUsd(amount) ?? 0n;
}
