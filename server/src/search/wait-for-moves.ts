import { setTimeout as sleep } from "node:timers/promises";
import type { Ledger } from "../wallet/wallet.ts";

/** As long as an account can be fenced, and a moment for the other cell to become active. */
const maxMoveMs = 9_000;
const retryMs = 100;

/**
 * Makes holds wait while their account is moved to another cell. They wait here and not in the queue of the ledger, so that
 * they delay no other wallet. Of the searches of a wallet, only one asks again until the move has ended.
 */
export function waitForMoves(hold: Ledger["hold"]): Ledger["hold"] {
  /** Wallets that are being moved. Resolved when the search that asks has another outcome, or has no time left. */
  const moves = new Map<string, Promise<void>>();
  return async (request, maxOutageMs) => {
    const { walletId } = request;
    const deadline = performance.now() + Math.min(maxOutageMs ?? maxMoveMs, maxMoveMs);
    const timeLeft = (): number => deadline - performance.now();
    let endOwn: (() => void) | undefined;
    try {
      for (;;) {
        const move = moves.get(walletId);
        if (endOwn) await sleep(retryMs);
        else if (move) await Promise.race([move, sleep(Math.max(0, timeLeft()))]);
        const held = await hold(request, maxOutageMs);
        if (held.outcome !== "account_moving" || timeLeft() < retryMs) return held;
        if (!moves.has(walletId)) {
          const { promise, resolve } = Promise.withResolvers<void>();
          moves.set(walletId, promise);
          endOwn = resolve;
        }
      }
    } finally {
      if (endOwn) {
        moves.delete(walletId);
        endOwn();
      }
    }
  };
}
