/** How long each step of a search took, told to the caller as Server-Timing. */
export interface Steps {
  time<Result>(step: string, work: Promise<Result>): Promise<Result>;
  header(): string;
  /** Since the request came. */
  elapsedMs(): number;
}

export function startSteps(): Steps {
  const startedAt = performance.now();
  const done: string[] = [];
  return {
    async time(step, work) {
      const begin = performance.now();
      try {
        return await work;
      } finally {
        done.push(`${step};dur=${(performance.now() - begin).toFixed(1)}`);
      }
    },
    header: () => done.join(", "),
    elapsedMs: () => performance.now() - startedAt,
  };
}
