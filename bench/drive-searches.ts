import type { Harness } from "./harness.ts";
import type { Target } from "./start-servers.ts";

export interface DriveOptions {
  harness: Harness;
  target: Pick<Target, "url" | "request">;
  keysFile: string;
  seconds: number;
  connections: number;
  hasIdempotencyKeys: boolean;
}

export interface LoadResult {
  answers: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Written by wrk.lua. */
interface WrkOutput extends Omit<LoadResult, "perSecond"> {
  failed: number;
  timedOut: number;
  disconnected: number;
  meanMs: number;
}

const timeoutSeconds = 10;
let runs = 0;

/** Drives a closed loop with wrk. A single failed search fails the benchmark. */
export async function driveSearches(options: DriveOptions): Promise<LoadResult> {
  runs += 1;
  const { seconds, connections } = options;
  const { url, request } = options.target;
  // The script stops wrk. wrk's own duration is only a safeguard against a server that hangs.
  const limits = ["-t1", `-c${connections}`, `-d${Math.ceil(seconds) + 15}s`, "--timeout", `${timeoutSeconds}s`];
  const script = ["-s", new URL("./wrk.lua", import.meta.url).pathname, url, "--"];
  const headerLines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const scriptArgs = [
    ...[options.keysFile, seconds * 1_000, connections, `run-${runs}`, options.hasIdempotencyKeys].map(String),
    request.path,
    request.body,
    headerLines.join(""),
  ];
  const output = await options.harness.run("wrk", [...limits, ...script, ...scriptArgs]);
  const line = output.split("\n").findLast((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`unexpected output from wrk:\n${output}`);
  const totals = JSON.parse(line) as WrkOutput;
  if (totals.answers === 0 || totals.failed + totals.timedOut + totals.disconnected > 0) {
    const { answers, failed, timedOut, disconnected } = totals;
    throw new Error(
      `Some searches at ${url} failed: ${answers} responses, ${failed} not 200; ` +
        `${timedOut} took over ${timeoutSeconds} s; ${disconnected} connection errors. Is the machine too busy?`,
    );
  }
  // The last searches are sent at the end of the run and answered about one mean latency later.
  const { answers, p50Ms, p99Ms } = totals;
  return { answers, p50Ms, p99Ms, perSecond: answers / (seconds + totals.meanMs / 1_000) };
}
