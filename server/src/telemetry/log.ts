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
      redact: {
        paths: ["*.headers", "*.authorization", "*.password", "*.connectionString", "req", "res"],
        remove: true,
      },
      serializers: { err: describeError },
    },
    destination ?? openStandardOutput(),
  );
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
