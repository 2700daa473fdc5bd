/**
 * Runs work of the same owner and kind one after another, in order of arrival. Work of different owners does not wait, and
 * work of another kind only if it would take the last free connection.
 */
export type InTurn = <Result>(turn: Turn, work: () => Promise<Result>) => Promise<Result>;

interface Turn {
  owner: string;
  kind: "read" | "change";
}

/** Work that has waited for `timeoutMs` is rejected without having started. */
export function createTurns({ connections, timeoutMs }: { connections: number; timeoutMs: number }): InTurn {
  /** The kinds of work in progress, for each owner that has any. */
  const busy = new Map<string, Set<Turn["kind"]>>();
  let inProgress = 0;
  /** In order of arrival. */
  const waiting = new Map<() => void, Turn>();

  function canStart({ owner, kind }: Turn): boolean {
    const kinds = busy.get(owner);
    return !kinds || (!kinds.has(kind) && inProgress < connections - 1);
  }

  function occupy({ owner, kind }: Turn): void {
    busy.set(owner, (busy.get(owner) ?? new Set()).add(kind));
    inProgress += 1;
  }

  function enter(turn: Turn): Promise<void> {
    if (canStart(turn)) {
      occupy(turn);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(start);
        reject(new Error(`no turn within ${timeoutMs} ms`));
      }, timeoutMs);
      waiting.set(start, turn);
    });
  }

  function leave({ owner, kind }: Turn): void {
    const kinds = busy.get(owner);
    kinds?.delete(kind);
    if (kinds?.size === 0) busy.delete(owner);
    inProgress -= 1;
    for (const [start, turn] of waiting) {
      if (!canStart(turn)) continue;
      waiting.delete(start);
      occupy(turn);
      start();
    }
  }

  return async function inTurn(turn, work) {
    await enter(turn);
    try {
      return await work();
    } finally {
      leave(turn);
    }
  };
}
