import { createLane, type Lane } from "../db/lane.ts";
import type { Pool } from "../db/pool.ts";
import {
  type CaptureRequest,
  captureBatch,
  type Hold,
  type HoldOutcome,
  type HoldRequest,
  holdBatch,
  type ReleaseRequest,
  releaseBatch,
  type Settlement,
} from "./statements.ts";

export { readAlerts } from "./alerts.ts";
export {
  type Attempt,
  type AutoTopUpView,
  beginAutoTopUps,
  dropAutoTopUp,
  listAttempts,
  readAutoTopUp,
  setAutoTopUp,
} from "./auto-top-ups.ts";
export { keepReport, readReconciliation } from "./keep-report.ts";
export {
  createKeyBudget,
  createWallet,
  findSearchWallet,
  findWalletAccount,
  type KeyBudget,
  type KeyBudgetLimits,
  readKeyBudgets,
  readWalletsOf,
  suspendWallet,
  type WalletOfAccount,
} from "./manage-wallets.ts";
export { creditByHand, manualPaymentId, readManualCredit } from "./manual-credit.ts";
export {
  closeNotice,
  listNotices,
  listUndecided,
  noteUnpaid,
  type PaymentNotice,
  type Reversal,
  reversePayment,
} from "./money-back.ts";
export { type EntryOfWallet, findEntries, listWallets, type WalletSummary } from "./read-all-wallets.ts";
export { type RecentHour, type RecentSearches, readRecentSearches } from "./read-searches.ts";
export { readEntries, readWallet } from "./read-wallet.ts";
export { formatReport, reconcile } from "./reconcile.ts";
export type { CaptureRequest, Hold, HoldOutcome, HoldRequest, ReleaseRequest, Settlement } from "./statements.ts";
export { type RefundOutcome, refundBatch, type TopUpOutcome, topUpBatch } from "./statements.ts";
export {
  beginTopUp,
  bookPayment,
  type EventName,
  endTopUp,
  expireTopUps,
  forgetPaymentEvents,
  listBooked,
  noteCheckout,
  noteCustomer,
  readTopUps,
  type TopUpView,
} from "./top-ups.ts";

/** The ledger as a server uses it: one call per search, batches underneath. See README.md for what holds. */
export interface Ledger {
  /** Decides, and sets the price aside if the answer is "held". */
  hold(request: HoldRequest): Promise<HoldOutcome>;
  /** Charges a held search. Only state "captured" means that money moved, and then it moved once. */
  capture(request: CaptureRequest): Promise<Settlement>;
  /** Gives back what a failed search held. */
  release(request: ReleaseRequest): Promise<Settlement>;
  waiting(): { holds: number; settlements: number };
}

export interface LedgerOptions {
  /** When a statement is sent; what it returns, when its outcome is known. */
  onBatch?: (kind: LedgerKind, searches: readonly Hold[]) => (() => void) | undefined;
  /** From the wish to its result, waiting included, also if it failed. */
  onResult?: (kind: LedgerKind, seconds: number) => void;
}

export type LedgerKind = "hold" | "capture" | "release";

/** More than could be decided before a hold's patience ends. One wallet may take half of the places. */
const mostHolds = 2_000;

/** As many as a server lets in, so that what was begun always finds a place. */
const mostSettlements = 4_000;

/** How many connections a ledger needs: one per lane. */
export const ledgerConnections = 3;

/**
 * Captures and releases have lanes of their own, so that they never wait behind holds: finishing what was begun
 * goes first. One lane for each, because a statement costs PostgreSQL as much as ten searches in it: two would carry
 * half as many each. A hold that cannot be decided in 3 s is refused; a capture is asked about for 30 s before we give
 * up knowing.
 */
export function createLedger(pool: Pool, options: LedgerOptions = {}): Ledger {
  const ownerOf = (item: Hold): string => item.walletId;
  const lane = <Item extends Hold, Result>(
    kind: LedgerKind,
    patienceMs: number,
    mostWaiting: number,
    send: (db: Pool, items: readonly Item[], wereSentBefore: boolean) => Promise<Result[]>,
  ): Lane<Item, Result> =>
    createLane<Item, Result>({
      send: (items, wereSentBefore) => send(pool, items, wereSentBefore),
      ownerOf,
      patienceMs,
      mostWaiting,
      onBatch: (items) => options.onBatch?.(kind, items),
    });

  const holds = lane("hold", 3_000, mostHolds, holdBatch);
  const captures = lane("capture", 30_000, mostSettlements, captureBatch);
  const releases = lane("release", 30_000, mostSettlements, releaseBatch);

  function timed<Result>(kind: LedgerKind, result: Promise<Result>): Promise<Result> {
    const { onResult } = options;
    if (!onResult) return result;
    const startedAt = performance.now();
    return result.finally(() => onResult(kind, (performance.now() - startedAt) / 1_000));
  }

  return {
    hold: (request) => timed("hold", holds.submit(request)),
    capture: (request) => timed("capture", captures.submit(request)),
    release: (request) => timed("release", releases.submit(request)),
    waiting: () => ({ holds: holds.waiting(), settlements: captures.waiting() + releases.waiting() }),
  };
}
