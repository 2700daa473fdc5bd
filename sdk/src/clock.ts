/** The time that deadlines and pauses are measured with. An object, so that tests can replace its functions. */
export const clock = {
  nowMs: (): number => performance.now(),

  /** Calls `fire` after `ms`, unless the returned function is called first. */
  startTimer(ms: number, fire: () => void): () => void {
    const timer = setTimeout(fire, ms);
    return () => clearTimeout(timer);
  },

  /** Rejects with the reason of the signal if it aborts first. */
  sleep: (ms: number, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        if (signal?.aborted) reject(signal.reason as Error);
        else resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener("abort", finish);
      if (signal?.aborted) finish();
    }),
};
