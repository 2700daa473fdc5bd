import { loadavg } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** How this process does, for whoever looks at it now. Metrics have the same over time. */
export interface ProcessFigures {
  /** Calls `work` and counts it as a search in flight until it ends. */
  duringSearch: <Answer>(work: () => Promise<Answer>) => Promise<Answer>;
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
  // Of this minute and the one before: an hour-old pause says nothing about now.
  const delays = monitorEventLoopDelay({ resolution: 10 });
  delays.enable();
  let lastMinute = 0;
  const timer = setInterval(() => {
    lastMinute = delays.percentile(99);
    delays.reset();
  }, 60_000).unref();

  let inFlight = 0;
  /** How many ended in each of the last seconds. */
  const ended = new Map<number, number>();
  const second = (): number => Math.floor(now() / 1_000);

  function noteEnd(): void {
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
        noteEnd();
      }
    },
    read() {
      // Whole seconds only: the one that is under way would pull the rate down.
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
