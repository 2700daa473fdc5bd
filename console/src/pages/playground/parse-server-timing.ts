export interface Step {
  name: string;
  startMs: number;
  ms: number;
}

/** The steps of `Server-Timing: auth;dur=0.4, hold;dur=2.1`, one after the other: that is how a search runs. */
export function readTiming(header: string | null): Step[] {
  let startMs = 0;
  return (header ?? "").split(",").flatMap((part) => {
    const [, name, ms] = /^\s*([\w-]+)\s*;\s*dur=(\d+(?:\.\d+)?)/.exec(part) ?? [];
    if (name === undefined) return [];
    const step = { name, startMs, ms: Number(ms) };
    startMs += step.ms;
    return [step];
  });
}
