/** The outcome of one part of the proof. */
export interface PartResult {
  title: string;
  /** Figures, for people. */
  lines: string[];
  violations: string[];
}

const maxViolations = 20;

export function formatPart({ title, lines, violations }: PartResult): string {
  const more = violations.length - maxViolations;
  return [
    `${violations.length === 0 ? "PASS" : "FAIL"}  ${title}`,
    ...lines.map((line) => `      ${line}`),
    ...violations.slice(0, maxViolations).map((violation) => `      VIOLATION ${violation}`),
    ...(more > 0 ? [`      and ${more} more violations`] : []),
  ].join("\n");
}
