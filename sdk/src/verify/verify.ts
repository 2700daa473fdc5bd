// The entry point "@pennyblack/sdk/verify": verifies receipts, statements and webhooks offline. Separate from the client,
// because most programs only search.

export type { InclusionProof, WalletProof } from "../api.ts";
export type { ReceiptClaims } from "./evidence.ts";
export type { Jwks, SignatureFault } from "./verify-jws.ts";
export { ReceiptError, verifyReceipt } from "./verify-receipt.ts";
export {
  type StatementFault,
  type VerifiedStatement,
  type VerifyStatementOptions,
  verifyStatement,
} from "./verify-statement.ts";
export { verifyWebhook, WebhookError, type WebhookEvent, type WebhookHeaders } from "./verify-webhook.ts";
