/**
 * Calls in flight that clients of revisions before 2026-07-28 can cancel. They send the cancellation as a separate request,
 * which names the call by its session and JSON-RPC id. It has an effect only on the server that runs the call.
 */
export interface Cancellations {
  /** Runs `work` with a signal that aborts when the call is cancelled. */
  track<Result>(call: CallName, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  cancel(call: CallName): void;
}

export interface CallName {
  /** Of the credential: a client cannot cancel the calls of another one. */
  keyId: string;
  sessionId: string;
  requestId: unknown;
}

export function createCancellations(): Cancellations {
  const calls = new Map<string, AbortController>();
  return {
    async track(call, work) {
      const name = nameOf(call);
      const controller = new AbortController();
      calls.set(name, controller);
      try {
        return await work(controller.signal);
      } finally {
        if (calls.get(name) === controller) calls.delete(name);
      }
    },
    cancel: (call) => calls.get(nameOf(call))?.abort(),
  };
}

function nameOf({ keyId, sessionId, requestId }: CallName): string {
  return JSON.stringify([keyId, sessionId, requestId]);
}
