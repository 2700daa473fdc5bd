/**
 * Round values for an axis from zero to at least `max`, such as 0, 0.05, 0.10. Steps are 1, 2 or 5 times a power of ten and
 * at least `minStep`. Two cents are never a step, because 0.02, 0.04, 0.06 are harder to read than 0.05, 0.10.
 */
export function niceTicks(max: number, minStep: number): number[] {
  const maxIntervals = 5;
  const steps = [...niceSteps(minStep)].filter((step) => step !== 0.02);
  const step = steps.find((candidate) => candidate * maxIntervals >= max - 1e-9) ?? max;
  const count = Math.max(1, Math.ceil(max / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toFixed(2)));
}

function* niceSteps(minStep: number): Generator<number> {
  for (let power = minStep; power < 1e12; power *= 10) {
    for (const factor of [1, 2, 5]) yield Number((factor * power).toFixed(2));
  }
}
