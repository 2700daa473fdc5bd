/** Dev prints its own messages for these, or its settings cause them. */
const redundantMessages =
  /^(?:Server listening at |listening$|worker started$|stopping$|stopped$|webhooks to private addresses allowed )/;

/** Formats a JSON log line of the server or worker for the terminal. Undefined if the line is redundant. */
export function describeLine(name: string, line: string): string | undefined {
  const entry = parseEntry(line);
  if (!entry) return `${name}: ${line}`;
  if (redundantMessages.test(String(entry["msg"])) || isSiteFile(entry)) return undefined;
  const { time, level, msg, service: _service, hostname: _host, pid: _pid, ...rest } = entry;
  const clock = typeof time === "string" ? time.slice(11, 19) : "";
  const details = Object.entries(rest).map(([key, value]) => `${key}=${describeValue(key, value, Number(level))}`);
  return [`${clock} ${name}${describeLevel(Number(level))}:`, String(msg), ...details].join(" ");
}

/** Only an unexpected error needs its stack trace. Failures of upstreams, including simulated ones, are warnings. */
function describeValue(key: string, value: unknown, level: number): string {
  if (typeof value === "string") return value;
  if (key !== "err" || level >= 50) return JSON.stringify(value);
  return JSON.stringify(value, (name, member: unknown) => (name === "stack" ? undefined : member));
}

/** A page of the docs or the console has dozens of files. */
function isSiteFile({ route, status }: Record<string, unknown>): boolean {
  return /^\/(?:docs|console)(?:\/\*?)?$/.test(String(route)) && Number(status) < 400;
}

function describeLevel(level: number): string {
  if (level >= 50) return " ERROR";
  return level >= 40 ? " warning" : "";
}

function parseEntry(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
