/** Checks a service at intervals. */
export interface ServiceWatch {
  /** False if the service did not respond to the last check. True before the first one has ended. */
  isAvailable: () => boolean;
  close: () => void;
}

/** `check` rejects if the service cannot be used, and has its own timeout. */
export function watchService(check: () => Promise<unknown>, intervalMs = 60_000): ServiceWatch {
  let isAvailable = true;
  const run = (): void => {
    check().then(
      () => (isAvailable = true),
      () => (isAvailable = false),
    );
  };
  run();
  const timer = setInterval(run, intervalMs).unref();
  return { isAvailable: () => isAvailable, close: () => clearInterval(timer) };
}
