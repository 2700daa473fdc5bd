import type { IncomingMessage } from "node:http";

// Detects proxies that PENNYBLACK_TRUSTED_PROXIES does not list. Their clients all have the proxy's address, so they share
// the limit for invalid keys, and allowed_ips of keys does not match. A client can send these headers itself, so a few
// requests prove nothing. A peer is logged immediately, but reported to operators only after a hundred requests in an hour.

export interface ForwardingWatch {
  /** Call for every request. `trusted`: the addresses that Fastify derived from trusted proxies, the peer's first. */
  record(request: IncomingMessage, trusted: readonly string[] | undefined): void;
  /** Peers that forwarded at least a hundred requests within an hour. */
  listProxies(): string[];
}

interface Peer {
  since: number;
  requests: number;
}

const windowMs = 3_600_000;
const minRequests = 100;
const maxPeers = 100;

export function createForwardingWatch(
  log: { warn(fields: object, message: string): void },
  now: () => number = () => performance.now(),
): ForwardingWatch {
  const peers = new Map<string, Peer>();

  function prune(): void {
    for (const [address, { since }] of peers) if (now() - since >= windowMs) peers.delete(address);
  }

  return {
    record({ headers, socket }, trusted) {
      if (headers["x-forwarded-for"] === undefined && headers["forwarded"] === undefined) return;
      const { remoteAddress: address } = socket;
      if (address === undefined || (trusted?.length ?? 1) > 1) return;
      const known = peers.get(address);
      if (known && now() - known.since < windowMs) {
        known.requests += 1;
        return;
      }
      prune();
      // Bounds memory and log lines when many clients send the header themselves.
      if (peers.size >= maxPeers) return;
      peers.set(address, { since: now(), requests: 1 });
      log.warn({ peer: address }, "proxy not listed in PENNYBLACK_TRUSTED_PROXIES, its clients share one address");
    },
    listProxies() {
      prune();
      return [...peers].filter(([, { requests }]) => requests >= minRequests).map(([address]) => address);
    },
  };
}
