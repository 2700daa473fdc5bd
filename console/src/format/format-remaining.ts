/** Time left in its two largest units, such as "6 d 23 h" or "59 min 10 s"; undefined once it has passed. */
export function formatRemaining(until: Date, now: Date): string | undefined {
  const seconds = Math.ceil((until.getTime() - now.getTime()) / 1_000);
  if (seconds <= 0) return undefined;
  const units: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = units.findIndex(([count]) => count > 0);
  return units
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}
