import { hostname } from "node:os";
import { type DestinationStream, pino } from "pino";

export type Log = pino.Logger;

/**
 * Structured JSON log. Our code never logs queries, keys, bodies or headers; the fields below are redacted in case a library
 * does.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: { service: "pennyblack", hostname: hostname(), pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: redact },
      serializers: { err: describeError },
    },
    destination ?? openStandardOutput(),
  );
}

const redactedFields = ["req", "res"];
const redactedMembers = ["headers", "authorization", "password", "connectionString"];

/** Not pino's own redaction, which copies every line; nearly all lines have nothing to redact. */
function redact(line: Record<string, unknown>): Record<string, unknown> {
  const fields = redactedFields.some((name) => name in line) ? omit(line, redactedFields) : line;
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value !== "object" || value === null || value instanceof Error) continue;
    if (redactedMembers.some((member) => member in value)) {
      return redact({ ...fields, [name]: omit(value, redactedMembers) });
    }
  }
  return fields;
}

function omit(object: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** Written asynchronously in blocks. If the reader closes the pipe, logging stops and the process continues. */
function openStandardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, minLength: 4_096, periodicFlush: 1_000 });
  // Otherwise the stream would retry forever when the process exits.
  output.on("error", () => output.destroy());
  return output;
}

// Messages of these errors quote their input, which can be a query.
const quotesInput = new Set(["SyntaxError", "TypeError", "RangeError", "URIError"]);

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return { type: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return {
    type: error.name,
    ...(!quotesInput.has(error.name) && { message: error.message }),
    ...("code" in error && { code: String(error.code) }),
    stack: frames.slice(0, 8).map((line) => line.trim()),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  };
}
