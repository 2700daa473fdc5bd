export interface Balancer {
  /** The URL of the next ready server. */
  choose: () => string;
  stop: () => void;
}

/** A round-robin load balancer that polls each server's readiness. */
export function startBalancer(servers: readonly { url: string; opsUrl: string }[]): Balancer {
  let ready = [...servers];
  let nextIndex = 0;
  const checkReadiness = async (): Promise<void> => {
    const results = await Promise.all(servers.map(({ opsUrl }) => isReady(opsUrl)));
    const readyServers = servers.filter((_server, index) => results[index]);
    // If no server is ready, keep the previous list.
    if (readyServers.length > 0) ready = readyServers;
  };
  const timer = setInterval(() => {
    checkReadiness().catch(() => undefined);
  }, 100);
  return {
    choose() {
      return ready[nextIndex++ % ready.length]?.url ?? "";
    },
    stop: () => clearInterval(timer),
  };
}

async function isReady(opsUrl: string): Promise<boolean> {
  return fetch(`${opsUrl}/readyz`).then(
    (reply) => reply.ok,
    () => false,
  );
}
