const dayMs = 86_400_000;

/** A value of `repeat` whose period does not end within the next minutes. Periods are aligned to the Unix epoch. */
export function choosePeriod(): "24h" | "23h" {
  const isNearEnd = dayMs - (Date.now() % dayMs) < 300_000;
  return isNearEnd ? "23h" : "24h";
}
