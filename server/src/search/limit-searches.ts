import type { Principal } from "../keys/keys.ts";
import type { Admission } from "../limits/admission.ts";
import type { AcquireSlot, LimitedKey, Slot } from "../limits/request-limits.ts";

/**
 * Limits of one wallet, in addition to those of its keys. Its test keys share the second pair. Their rate counts only valid
 * searches, because the tests of an integration send many invalid ones, which have a separate limit.
 */
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

/** Invalid and valid requests with test keys, as a multiple of the valid ones. */
export const testRequestsFactor = 10;

export interface SearchSlot extends Pick<Slot, "release"> {
  headers: RateLimitHeaders;
  /** Counts the search once it is known to be valid. Undefined if it was counted before. */
  countValid?: () => Promise<RateLimitHeaders>;
}

type RateLimitHeaders = { "ratelimit-policy": string; ratelimit: string };

/**
 * Occupies a slot of this server on behalf of the wallet, then one of the key and one of the wallet, which may take a
 * round trip to Redis. The body is read afterwards, so a body that is sent slowly uses up the wallet's own share.
 */
export function createSearchLimits({ admission, acquireSlot, limits, trackInFlight }: LimitDependencies) {
  const { walletRate, walletInFlight, walletTestRate, walletTestInFlight } = limits;

  return async function limitSearch(caller: Principal): Promise<SearchSlot> {
    const { mode, walletId } = caller;
    const isTest = mode === "test";
    const releases = [admission.enter(isTest ? "tests" : "callers", walletId)];
    const release = (): void => {
      for (const each of releases) each();
    };
    const acquire = async (limit: LimitedKey): Promise<Slot> => {
      const slot = await acquireSlot(limit);
      releases.push(slot.release);
      return slot;
    };
    try {
      // The key first, so that requests above its limit do not count against the wallet's.
      const key = await acquire(caller);
      const wallet = await acquire(
        isTest
          ? {
              kind: "test_requests",
              keyId: `test requests ${walletId}`,
              searchesPerSecond: walletTestRate * testRequestsFactor,
              searchesInFlight: walletTestInFlight,
            }
          : {
              kind: "wallet",
              keyId: `wallet ${walletId}`,
              searchesPerSecond: walletRate,
              searchesInFlight: walletInFlight,
            },
      );
      releases.push(trackInFlight());
      const valid: LimitedKey = { kind: "test", keyId: `test ${walletId}`, searchesPerSecond: walletTestRate };
      return {
        headers: closest(key, wallet),
        release,
        ...(isTest && { countValid: async () => closest(key, wallet, await acquire(valid)) }),
      };
    } catch (error) {
      release();
      throw error;
    }
  };
}

/** Describes the limit with the fewest requests left. */
function closest(...slots: [Slot, ...Slot[]]): RateLimitHeaders {
  const { rateLimitPolicy, rateLimit } = slots.reduce((lowest, each) =>
    each.remaining < lowest.remaining ? each : lowest,
  );
  return { "ratelimit-policy": rateLimitPolicy, ratelimit: rateLimit };
}
