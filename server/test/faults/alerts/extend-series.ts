// Recorded series, extended to a longer time as promtool's tests read them: one value per minute.

export interface RecordedSeries {
  /** As Prometheus returns them, with the name as __name__. */
  metric: Readonly<Record<string, string>>;
  /** Unix times in seconds, with the value as text. */
  values: readonly (readonly [number, string])[];
  /** Including the parts of a histogram. */
  isCounter: boolean;
}

export interface Extension {
  /** Unix time in seconds of the first minute. promtool starts at zero. */
  startedAt: number;
  /** The number of recorded minutes. */
  recorded: number;
  /** What follows the recording repeats it from this minute on. */
  repeatedFrom: number;
  minutes: number;
}

type Value = number | undefined;

/**
 * The series as promtool's `input_series`. Counters continue to increase as in the repeated minutes, and times of an event move
 * on with the clock, so a task that ran once in these minutes runs again in each repetition.
 */
export function extendSeries(series: RecordedSeries, extension: Extension): { series: string; values: string } {
  const name = series.metric["__name__"] ?? "";
  const recorded = toMinutes(series, extension).map((value) =>
    value !== undefined && isTime(name) ? value - extension.startedAt : value,
  );
  const { repeatedFrom, minutes } = extension;
  const repeated = recorded.slice(repeatedFrom);
  const step = stepOf(series, repeated);
  const values = Array.from({ length: minutes }, (_, minute): Value => {
    if (minute < recorded.length) return recorded[minute];
    const nth = (minute - repeatedFrom) % repeated.length;
    const value = repeated[nth];
    return value === undefined ? undefined : value + step * Math.floor((minute - repeatedFrom) / repeated.length);
  });
  return { series: nameOf(series.metric), values: values.map((value) => formatValue(value)).join(" ") };
}

/** The last value of each minute. */
function toMinutes({ values }: RecordedSeries, { startedAt, recorded }: Extension): Value[] {
  const minutes: Value[] = Array.from({ length: recorded }, () => undefined);
  for (const [at, value] of values) {
    const minute = Math.floor((at - startedAt) / 60);
    if (minute >= 0 && minute < recorded) minutes[minute] = Number(value);
  }
  return minutes;
}

const isTime = (name: string): boolean => /_(?:timestamp|start_time|boot_time|time)_seconds$/.test(name);

/** What each repetition adds. */
function stepOf({ metric, isCounter }: RecordedSeries, repeated: readonly Value[]): number {
  const name = metric["__name__"] ?? "";
  if (/_(?:start|boot)_time_seconds$/.test(name)) return 0;
  if (isTime(name)) return repeated.length * 60;
  const known = repeated.filter((value) => value !== undefined);
  const [first = 0, last = 0] = [known[0], known.at(-1)];
  if (!isCounter || known.length < 2) return 0;
  // The increase from the last minute to the first one of the next repetition is not recorded.
  return ((last - first) * repeated.length) / (known.length - 1);
}

function nameOf({ __name__: name = "", ...labels }: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.join(",")}}`;
}

function formatValue(value: Value): string {
  if (value === undefined) return "_";
  return String(value).replace("Infinity", "Inf");
}
