/** How a request reached the search: the API, a compatibility endpoint, a tool call, or the playground of the console. */
export const transports = ["http", "compat", "mcp", "playground"] as const;
export type Transport = (typeof transports)[number];

/** A refusal or replay: a request that had no hold, so that the ledger has no row for it. */
export interface UnheldRequest {
  /** The request id, a UUIDv7 with the time of the request. */
  id: string;
  walletId: string;
  keyId: string;
  mode: "live" | "test";
  /** The problem code, or "replayed". */
  outcome: string;
  run?: string | undefined;
  /** As it is stored. */
  endUser?: string | undefined;
  transport: Transport;
}

/** Requests that wait to be stored individually. Those that it does not accept are only counted. */
export interface UnheldQueue {
  /** Returns false if the request exceeds a limit, or if the queue is full. */
  add: (request: UnheldRequest) => boolean;
  take: () => UnheldRequest[];
}

/**
 * Bounds the table and its writes. The limits of keys and wallets are for all servers, and each server applies its part of
 * them.
 */
const limits = {
  perKeyAndMinute: 20,
  perWalletAndMinute: 100,
  perWalletAndDay: 5_000,
  perServerAndSecond: 500,
  waiting: 5_000,
};

export function createUnheldQueue({
  servers = 1,
  now = Date.now,
}: {
  servers?: number | undefined;
  now?: (() => number) | undefined;
}): UnheldQueue {
  const part = (limit: number): number => Math.max(1, Math.floor(limit / servers));
  const keys = createWindow(part(limits.perKeyAndMinute), 60_000);
  const minutes = createWindow(part(limits.perWalletAndMinute), 60_000);
  const days = createWindow(part(limits.perWalletAndDay), 86_400_000);
  const seconds = createWindow(limits.perServerAndSecond, 1_000);
  const waiting: UnheldRequest[] = [];
  return {
    add(request) {
      const at = now();
      const uses: [Window, string][] = [
        [seconds, ""],
        [keys, request.keyId],
        [minutes, request.walletId],
        [days, request.walletId],
      ];
      if (waiting.length >= limits.waiting || uses.some(([window, name]) => window.isFull(name, at))) return false;
      for (const [window, name] of uses) window.count(name);
      waiting.push(request);
      return true;
    },
    take: () => waiting.splice(0),
  };
}

/** Counts uses per name in the current period of the clock. */
interface Window {
  isFull: (name: string, at: number) => boolean;
  count: (name: string) => void;
}

function createWindow(max: number, periodMs: number): Window {
  let period = 0;
  let used = new Map<string, number>();
  return {
    isFull(name, at) {
      const current = Math.floor(at / periodMs);
      if (current !== period) used = new Map();
      period = current;
      return (used.get(name) ?? 0) >= max;
    },
    count: (name) => void used.set(name, (used.get(name) ?? 0) + 1),
  };
}
