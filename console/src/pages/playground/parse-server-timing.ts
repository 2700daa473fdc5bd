export interface Step {
  name: string;
  startMs: number;
  ms: number;
}

/** Parses `Server-Timing: auth;dur=0.4, hold;dur=2.1`. Steps run one after the other. */
export function parseServerTiming(header: string | null): Step[] {
  let startMs = 0;
  return (header ?? "").split(",").flatMap((part) => {
    const [, name, ms] = /^\s*([\w-]+)\s*;\s*dur=(\d+(?:\.\d+)?)/.exec(part) ?? [];
    if (name === undefined) return [];
    const step = { name, startMs, ms: Number(ms) };
    startMs += step.ms;
    return [step];
  });
}
