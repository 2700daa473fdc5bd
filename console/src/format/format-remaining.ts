/** "6 d 23 h", "59 min 10 s": what is left until then, in its two largest units; undefined once it is over. */
export function formatLeft(until: Date, now: Date): string | undefined {
  const seconds = Math.ceil((until.getTime() - now.getTime()) / 1_000);
  if (seconds <= 0) return undefined;
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}
