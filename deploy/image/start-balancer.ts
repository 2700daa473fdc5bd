export interface Balancer {
  /** The address of a server that said a moment ago that it is ready. */
  choose: () => string;
  stop: () => void;
}

/** What every balancer does: asks each server whether it is ready, and sends requests to those that are, in turn. */
export function startBalancer(servers: readonly { url: string; opsUrl: string }[]): Balancer {
  let ready = [...servers];
  let turn = 0;
  const look = async (): Promise<void> => {
    const answers = await Promise.all(servers.map(({ opsUrl }) => isReady(opsUrl)));
    const saidYes = servers.filter((_server, index) => answers[index]);
    // With nowhere else to go, a balancer goes where it went before.
    if (saidYes.length > 0) ready = saidYes;
  };
  const timer = setInterval(() => {
    look().catch(() => undefined);
  }, 100);
  return {
    choose() {
      return ready[turn++ % ready.length]?.url ?? "";
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
