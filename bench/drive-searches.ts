import type { Target } from "./start-servers.ts";
import type { Workshop } from "./workshop.ts";

export interface Drive {
  workshop: Workshop;
  wrk: string;
  target: Pick<Target, "url" | "question">;
  keysFile: string;
  seconds: number;
  connections: number;
  hasIdempotencyKeys: boolean;
}

export interface Driven {
  /** Every one a 200. */
  answers: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

interface Told {
  answers: number;
  refused: number;
  late: number;
  broken: number;
  meanMs: number;
  p50Ms: number;
  p99Ms: number;
}

const patienceSeconds = 10;
let runs = 0;

/** Searches as fast as they are answered, over so many connections. A single failure fails the bench. */
export async function driveSearches(drive: Drive): Promise<Driven> {
  runs += 1;
  const { seconds, connections } = drive;
  const { url, question } = drive.target;
  // The script ends wrk by itself; wrk's own clock is there for a server that stopped answering.
  const limits = ["-t1", `-c${connections}`, `-d${Math.ceil(seconds) + 15}s`, "--timeout", `${patienceSeconds}s`];
  const script = ["-s", new URL("./drive.lua", import.meta.url).pathname, url, "--"];
  const lines = Object.entries(question.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const wishes = [
    ...[drive.keysFile, seconds * 1_000, connections, `run-${runs}`, drive.hasIdempotencyKeys].map(String),
    question.path,
    question.body,
    lines.join(""),
  ];
  const printed = await drive.workshop.run(drive.wrk, [...limits, ...script, ...wishes]);
  const line = printed.split("\n").findLast((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`wrk said nothing to count:\n${printed}`);
  const told = JSON.parse(line) as Told;
  if (told.answers === 0 || told.refused + told.late + told.broken > 0) {
    const { answers, refused, late, broken } = told;
    throw new Error(
      `Not every search at ${url} was answered with 200: of ${answers} answers ${refused} were refusals; ` +
        `${late} took over ${patienceSeconds} s; ${broken} connections broke. Is the machine too busy?`,
    );
  }
  // The last search was sent when the time was over and answered about one mean later.
  const { answers, p50Ms, p99Ms } = told;
  return { answers, p50Ms, p99Ms, perSecond: answers / (seconds + told.meanMs / 1_000) };
}
