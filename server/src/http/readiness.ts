/**
 * How long a process without its database stays ready. A failover affects all servers alike. If they left service, callers
 * would get the load balancer's error instead of ours, and the first searches after it would fail. A failover of Patroni
 * with a ttl of 20 s takes about 22 s.
 */
const graceMs = 30_000;

/**
 * The response of /readyz: the reason this process should get no traffic, or undefined if it is ready. `check` returns the reason, and
 * rejects while the database is unavailable.
 */
export function createReadiness(
  check: () => Promise<string | undefined>,
  now: () => number = () => performance.now(),
): () => Promise<string | undefined> {
  let unavailableSince: number | undefined;
  return async () => {
    try {
      const fault = await check();
      unavailableSince = undefined;
      return fault;
    } catch (error) {
      unavailableSince ??= now();
      if (now() - unavailableSince < graceMs) return undefined;
      const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
      return `The database has been unavailable for ${graceMs / 1_000} s (${code}).`;
    }
  };
}
