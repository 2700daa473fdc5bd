import { loadavg } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** The current load of this process, for the operator's console. The metrics have its history. */
export interface ProcessFigures {
  /** Calls `work` and counts it as a search in flight until it ends. */
  duringSearch: <Result>(work: () => Promise<Result>) => Promise<Result>;
  read: () => {
    load: number[];
    memory_mb: number;
    event_loop_ms_p99: number;
    in_flight: number;
    searches_per_second: number;
  };
  close: () => void;
}

const windowSeconds = 10;

export function createProcessFigures(now: () => number = Date.now): ProcessFigures {
  // Covers this minute and the one before, so that an old pause is not reported.
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  let lastMinute = 0;
  const timer = setInterval(() => {
    lastMinute = delays.percentile(99);
    delays.reset();
  }, 60_000).unref();

  let inFlight = 0;
  /** Searches finished, by second. */
  const ended = new Map<number, number>();
  const second = (): number => Math.floor(now() / 1_000);

  function recordEnd(): void {
    inFlight -= 1;
    ended.set(second(), (ended.get(second()) ?? 0) + 1);
    for (const each of ended.keys()) if (each < second() - windowSeconds) ended.delete(each);
  }

  return {
    async duringSearch(work) {
      inFlight += 1;
      try {
        return await work();
      } finally {
        recordEnd();
      }
    },
    read() {
      // Excludes the current second, which is incomplete.
      const recent = [...ended].filter(([each]) => each >= second() - windowSeconds && each < second());
      return {
        load: loadavg().map((load) => Number(load.toFixed(2))),
        memory_mb: Math.round(process.memoryUsage.rss() / 1_048_576),
        event_loop_ms_p99: Number((Math.max(lastMinute, delays.percentile(99)) / 1_000_000).toFixed(1)),
        in_flight: inFlight,
        searches_per_second: recent.reduce((sum, [, count]) => sum + count, 0) / windowSeconds,
      };
    },
    close() {
      clearInterval(timer);
      delays.disable();
    },
  };
}
