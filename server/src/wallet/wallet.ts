import { constants } from "../config/constants.ts";
import { createLane, type Lane } from "../db/lane.ts";
import { createLimiter } from "../db/limiter.ts";
import type { Pool } from "../db/pool.ts";
import type { busy, SendOptions } from "../db/settle-batch.ts";
import {
  type CaptureRequest,
  type Hold,
  type HoldOutcome,
  type HoldRequest,
  type ReleaseRequest,
  type Settlement,
  sendCaptures,
  sendHolds,
  sendReleases,
} from "./statements.ts";

export {
  type AdjustmentOutcome,
  adjustmentKinds,
  type DecisionOutcome,
  decideAdjustment,
  listRequestedAdjustments,
  requestAdjustment,
} from "./accounting/adjustments.ts";
export {
  amountOf,
  bookTransfer,
  listTransfers,
  readTransferDocument,
  signTransfer,
  type TransferDocument,
  type TransferOutcome,
  type TransferSide,
} from "./accounting/cell-transfers.ts";
export { writeJournal } from "./accounting/journal.ts";
export { closeMonth, readTrialBalance } from "./accounting/months.ts";
export { readAlerts } from "./alerts.ts";
export {
  type Attempt,
  type AutoTopUpView,
  beginAutoTopUps,
  deleteAutoTopUp,
  listAttempts,
  readAutoTopUp,
  setAutoTopUp,
} from "./auto-top-ups.ts";
export {
  countDataKeys,
  createDataKeys,
  type DataKeys,
  replaceDataKeys,
  resealDataKeys,
} from "./data-keys.ts";
export { findStoredEndUser, toStoredEndUser } from "./end-users.ts";
export {
  createKeyLimits,
  createWallet,
  findWalletAccount,
  type KeyBudget,
  type KeyLimits,
  readAccountWallets,
  readKeyBudgets,
  suspendWallet,
  type WalletOfAccount,
} from "./manage-wallets.ts";
export { creditManually, creditOpeningBalance, manualPaymentId, readManualCredit } from "./manual-credit.ts";
export {
  findSearch,
  listWallets,
  readSearchesSince,
  readTotalBalance,
  type SearchOfWallet,
  type WalletSummary,
} from "./reads/read-all-wallets.ts";
export { type RunView, readRuns } from "./reads/read-runs.ts";
export {
  countRecentSearches,
  readSearch,
  readSearches,
  readSearchTimes,
  type SearchesQuery,
  type SearchTimes,
  type SearchView,
} from "./reads/read-searches.ts";
export { readEntriesOfSearch } from "./reads/read-statement.ts";
export { readVersion } from "./reads/read-version.ts";
export { type Entry, readEntries, readWallet } from "./reads/read-wallet.ts";
export { entrySchema, money, serializeEntry } from "./reads/serialize-entry.ts";
export {
  closeNotice,
  countNotices,
  listNotices,
  listUndecided,
  type PaymentNotice,
  type Reversal,
  recordUnpaid,
  recordUnreadable,
  reversePayment,
} from "./reversals.ts";
export {
  archiveBudget,
  type BudgetChanges,
  type BudgetOfKey,
  type BudgetOutcome,
  changeBudget,
  createBudget,
  limitOf,
  type NewBudget,
  type NewRequest,
  nameOfBudget,
  type RequestOutcome,
  readBudgetKeys,
  readBudgetsOfKeys,
  readSharedBudgets,
  requestIncrease,
  type SharedBudget,
} from "./shared-budgets.ts";
export type {
  BudgetPeriod,
  BudgetState,
  CaptureRequest,
  Hold,
  HoldOutcome,
  HoldRequest,
  ReleaseRequest,
  Settlement,
  StepTimes,
} from "./statements.ts";
export { type RefundOutcome, refundBatch, type TopUpOutcome, topUpBatch } from "./statements.ts";
export {
  beginTopUp,
  bookPayment,
  deleteOldPaymentEvents,
  endTopUp,
  expireTopUps,
  listBooked,
  listOpenCheckouts,
  type OpenCheckout,
  type ProcessorEvent,
  readComparedUntil,
  readTopUps,
  recordCheckout,
  recordComparison,
  recordCustomer,
  type TopUpClaim,
  type TopUpView,
} from "./top-ups.ts";
export { readTrialTerms, setTrialTerms } from "./trial-terms.ts";
export { formatReport, reconcile } from "./upkeep/reconcile.ts";
export { readReconciliation, saveReport } from "./upkeep/save-report.ts";

/** The ledger interface of a server: one call per search, batched internally. README.md lists the invariants. */
export interface Ledger {
  /**
   * Admits or refuses a search. Outcome "held" reserves its price. `maxOutageMs` limits the wait for an unavailable database to
   * the time that the caller has.
   */
  hold(request: HoldRequest, maxOutageMs?: number): Promise<HoldOutcome>;
  /** Charges a held search. Only state "captured" means that money moved, exactly once. */
  capture(request: CaptureRequest): Promise<Settlement>;
  /** Returns the reserved price of a failed search to the balance. */
  release(request: ReleaseRequest): Promise<Settlement>;
  waiting(): { holds: number; settlements: number };
}

export interface LedgerOptions {
  /** How long a hold waits while the database is unavailable. */
  holdOutageMs?: number;
  /** Called when a batch is sent. The returned function is called when its outcome is known. */
  onBatch?: (kind: LedgerKind, searches: readonly Hold[]) => (() => void) | undefined;
  /** Called with the total duration of every call, time in the queue included, whether or not it succeeded. */
  onResult?: (kind: LedgerKind, seconds: number) => void;
}

export type LedgerKind = "hold" | "capture" | "release";

/** More holds than this could not be decided before they time out. One wallet can fill half of the queue. */
export const maxHolds = 2_000;

/** The number of requests a server admits, so there is always a slot to finish a search that was admitted. */
const maxSettlements = 4_000;

const lanes = 3;

/** Statements that wait for a locked wallet. More wallets than this are rarely locked for long. */
const maxLocked = 4;

/** Hot wallets of one server that are served at the same time. */
const maxHot = 4;

export const ledgerConnections = lanes + maxLocked + maxHot;

/**
 * Captures and releases have their own lanes, so they never queue behind holds: finishing admitted searches has
 * priority. There is one lane per kind because the fixed cost of a statement equals about ten searches; a second lane
 * would halve the batch size. A wallet that is locked or hot has its own lane. A hold that is not decided within 3 s is refused, or
 * within 8 s while the database is unavailable. Sending it again is safe, because its id is that of the search. A capture is retried
 * for 30 s before its outcome is reported as unknown.
 */
export function createLedger(pool: Pool, options: LedgerOptions = {}): Ledger {
  const { holdOutageMs = constants.databaseOutageMs } = options;
  const ownerOf = (item: Hold): string => item.walletId;
  const limiters = { locked: createLimiter(maxLocked), hot: createLimiter(maxHot) };
  const lane = <Item extends Hold, Result>(
    kind: LedgerKind,
    timeoutMs: number,
    maxWaiting: number,
    send: (db: Pool, items: readonly Item[], options: SendOptions) => Promise<(Result | typeof busy)[]>,
  ): Lane<Item, Result> =>
    createLane<Item, Result>({
      send: (items, sendOptions) => send(pool, items, sendOptions),
      ownerOf,
      timeoutMs,
      outageTimeoutMs: kind === "hold" ? holdOutageMs : timeoutMs,
      maxWaiting,
      limiters,
      onBatch: (items) => options.onBatch?.(kind, items),
    });

  const holds = lane("hold", 3_000, maxHolds, sendHolds);
  const captures = lane("capture", 30_000, maxSettlements, sendCaptures);
  const releases = lane("release", 30_000, maxSettlements, sendReleases);

  function timed<Result>(kind: LedgerKind, result: Promise<Result>): Promise<Result> {
    const { onResult } = options;
    if (!onResult) return result;
    const startedAt = performance.now();
    return result.finally(() => onResult(kind, (performance.now() - startedAt) / 1_000));
  }

  return {
    hold: (request, maxOutageMs) => timed("hold", holds.submit(request, maxOutageMs)),
    capture: (request) => timed("capture", captures.submit(request)),
    release: (request) => timed("release", releases.submit(request)),
    waiting: () => ({ holds: holds.waiting(), settlements: captures.waiting() + releases.waiting() }),
  };
}
