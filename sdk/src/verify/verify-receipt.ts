import type { ReceiptClaims } from "./evidence.ts";
import { type Jwks, type SignatureFault, verifyJws } from "./verify-jws.ts";

/** A receipt that was not signed by the server, or was changed. `reason` gives the exact fault. */
export class ReceiptError extends Error {
  override name = "ReceiptError";
  declare readonly reason: SignatureFault;

  constructor(reason: SignatureFault) {
    super(messages[reason]);
    this.reason = reason;
  }
}

/** Returns the claims of a receipt if its signature is valid; throws ReceiptError otherwise. Needs no network. */
export async function verifyReceipt(receipt: string, jwks: Jwks): Promise<ReceiptClaims> {
  const verified = await verifyJws(receipt, "pennyblack-receipt", jwks);
  if (!verified.ok) throw new ReceiptError(verified.reason);
  return verified.payload as unknown as ReceiptClaims;
}

const messages: Record<SignatureFault, string> = {
  malformed: "The receipt is not a compact JWS.",
  unknown_key: "The receipt names a key that is not in the key set.",
  wrong_signature: "The receipt's signature does not match: the receipt was changed, or another server signed it.",
  wrong_type: "The signature is valid, but the document is not a receipt.",
};
