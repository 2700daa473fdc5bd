/** Limits the number of statements in flight. */
export interface Limiter {
  /**
   * Starts the work now or when earlier work has ended, in order of arrival. Work of one owner never overlaps, because its statements
   * would only wait for each other in the database, and larger batches are cheaper.
   */
  run(owner: string, work: () => Promise<void>): Promise<void>;
}

interface Waiting {
  owner: string;
  start: () => void;
}

export function createLimiter(max: number): Limiter {
  const running: string[] = [];
  const waiting: Waiting[] = [];

  function startNext(): void {
    const next = running.length < max ? waiting.findIndex(({ owner }) => !running.includes(owner)) : -1;
    const [found] = next < 0 ? [] : waiting.splice(next, 1);
    if (!found) return;
    running.push(found.owner);
    found.start();
  }

  return {
    async run(owner, work) {
      await new Promise<void>((start) => {
        waiting.push({ owner, start });
        startNext();
      });
      try {
        await work();
      } finally {
        running.splice(running.indexOf(owner), 1);
        startNext();
      }
    },
  };
}
