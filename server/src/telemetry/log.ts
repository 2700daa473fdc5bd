import { type DestinationStream, pino } from "pino";

export type Log = pino.Logger;

/**
 * Structured lines. Queries, keys, bodies and headers are never handed to the log; what is listed below would still be
 * taken out if a library did.
 */
export function createLog(level: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: { service: "pennyblack" },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: takeOut },
      serializers: { err: describeError },
    },
    destination ?? openStandardOutput(),
  );
}

const wholeThings = ["req", "res"];
const partsOfThings = ["headers", "authorization", "password", "connectionString"];

/** By hand, because pino's own way copies every line, and nearly every line has nothing to take out. */
function takeOut(line: Record<string, unknown>): Record<string, unknown> {
  const kept = wholeThings.some((name) => name in line) ? without(line, wholeThings) : line;
  for (const [name, value] of Object.entries(kept)) {
    if (typeof value !== "object" || value === null || value instanceof Error) continue;
    if (partsOfThings.some((part) => part in value)) return takeOut({ ...kept, [name]: without(value, partsOfThings) });
  }
  return kept;
}

function without(thing: object, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(thing).filter(([name]) => !names.includes(name)));
}

/** Written in blocks, off the path of a request. When nobody reads any more, logging ends and the process goes on. */
function openStandardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, minLength: 4_096, periodicFlush: 1_000 });
  // Left open, the stream would try to write what is left for ever when the process exits.
  output.on("error", () => output.destroy());
  return output;
}

// Their messages quote what they could not read, which may be a query.
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
