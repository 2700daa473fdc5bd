// Patterns of the text fields in request bodies. An error describes a pattern in words, so every pattern has a description.

// C0 and C1 controls, line separators, and overrides of the writing direction.
const controls = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069";
/** Names of accounts and people are sent to others by email, where a web address would become a link. */
const noWebAddress = "(?![^]*(?:://|[wW]{3}\\.|[^\\s/]\\.[^\\s/.]{2,}/))";

export const textPatterns = {
  /** Down to a millionth of a dollar. */
  usd: "^\\d{1,9}(\\.\\d{1,6})?$",
  usdCents: "^\\d{1,9}(\\.\\d{1,2})?$",
  topUp: "^\\d{1,6}(\\.\\d{1,2})?$",
  visible: "^[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$",
  name: `^${noWebAddress}[^${controls}]*$`,
  visibleName: `^${noWebAddress}[^${controls}]*[^\\s${controls}][^${controls}]*$`,
  printable: "^[\\x21-\\x7e]+$",
  https: "^https://",
  duration: "^\\d{1,7}[smhd]$",
  externalId: "^[A-Za-z0-9][\\w.-]{0,63}$",
  runName: "^[\\w.:@/-]{1,128}$",
} as const;

const descriptions: Record<keyof typeof textPatterns, string> = {
  usd: 'an amount in USD as a string, such as "5.00"',
  usdCents: 'an amount in USD and whole cents as a string, such as "5.00"',
  topUp: 'an amount in USD and whole cents as a string, such as "20.00"',
  visible: "a string with a visible character and without control characters",
  name: "a name without control characters and web addresses (`https://`, `www.` or `example.org/`)",
  visibleName:
    "a name with a visible character and without control characters and web addresses (`https://`, `www.` or `example.org/`)",
  printable: "a string of printable ASCII characters without spaces",
  https: "a URL that starts with `https://`",
  duration: "a number of seconds, minutes, hours or days such as `90s`, `20m`, `1h` or `30d`",
  externalId: "1 to 64 letters, digits or any of `_.-` that start with a letter or digit",
  runName: "a name of 1 to 128 letters, digits or any of `_.:@/-`",
};

const byPattern = new Map<string, string>(
  Object.entries(textPatterns).map(([name, pattern]) => [pattern, descriptions[name as keyof typeof textPatterns]]),
);

/** Undefined if the pattern is not listed above. */
export function describePattern(pattern: string): string | undefined {
  return byPattern.get(pattern);
}
