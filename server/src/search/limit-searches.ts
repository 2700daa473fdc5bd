import type { Principal } from "../keys/keys.ts";
import type { Admission } from "../limits/admission.ts";
import type { AcquireSlot, Slot } from "../limits/request-limits.ts";

/** Limits of one wallet, in addition to those of its keys. Its test keys share the second pair. */
export interface WalletLimits {
  walletRate: number;
  walletInFlight: number;
  walletTestRate: number;
  walletTestInFlight: number;
}

interface LimitDependencies {
  admission: Pick<Admission, "enter">;
  acquireSlot: AcquireSlot;
  limits: WalletLimits;
  /** Counts a search in flight until the returned function is called. */
  trackInFlight: () => () => void;
}

/**
 * Occupies a slot of this server in the name of the wallet, then one of the key and one of the wallet, which may take a
 * round trip to Redis. The body is read afterwards, so a body that is sent slowly uses up the wallet's own share.
 */
export function createSearchLimits({ admission, acquireSlot, limits, trackInFlight }: LimitDependencies) {
  function walletLimit({ mode, walletId }: Principal): Parameters<AcquireSlot>[0] {
    const { walletRate, walletInFlight, walletTestRate, walletTestInFlight } = limits;
    return mode === "test"
      ? {
          kind: "test",
          keyId: `test ${walletId}`,
          searchesPerSecond: walletTestRate,
          searchesInFlight: walletTestInFlight,
        }
      : {
          kind: "wallet",
          keyId: `wallet ${walletId}`,
          searchesPerSecond: walletRate,
          searchesInFlight: walletInFlight,
        };
  }

  return async function limitSearch(caller: Principal): Promise<Slot> {
    const releases = [admission.enter(caller.mode === "test" ? "tests" : "callers", caller.walletId)];
    const release = (): void => {
      for (const each of releases) each();
    };
    try {
      // The key first: what exceeds its limit does not count against the wallet's.
      const key = await acquireSlot(caller);
      releases.push(key.release);
      const wallet = await acquireSlot(walletLimit(caller));
      releases.push(wallet.release, trackInFlight());
      return { ...(wallet.remaining < key.remaining ? wallet : key), release };
    } catch (error) {
      release();
      throw error;
    }
  };
}
