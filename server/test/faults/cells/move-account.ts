import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import type { Fault, FaultKind } from "./faults.ts";
import { type Fleet, type FleetAccount, fail } from "./fleet.ts";

// One move of an account: the mover is started again until it reports that the account has moved.

export interface Move {
  account: FleetAccount;
  from: string;
  to: string;
  startedAt: number;
  endedAt: number;
  /** Processes started. */
  attempts: number;
  /** How often the mover gave up and left the account where it was. */
  undone: number;
  /** The fault that hit it. Undefined if none was planned, or if the mover ended first. */
  fault: FaultKind | undefined;
  /** The step after which the fault hit. */
  faultStep: string | undefined;
  /** As reported by the mover in its last attempt. */
  pauseMs: number;
}

export interface MoveOptions {
  account: FleetAccount;
  from: string;
  to: string;
  fault: Fault | undefined;
  /** Injects a fault other than a kill of the mover. */
  inject: (kind: FaultKind, move: { from: string; to: string }) => Promise<void>;
  onStep: (step: string) => void;
}

const maxMs = 150_000;

export async function runMove(fleet: Fleet, options: MoveOptions): Promise<Move> {
  const { account, from, to, fault } = options;
  const move: Move = {
    account,
    from,
    to,
    startedAt: performance.now(),
    endedAt: 0,
    attempts: 0,
    undone: 0,
    fault: undefined,
    faultStep: undefined,
    pauseMs: Number.NaN,
  };
  const failures: string[] = [];
  for (;;) {
    move.attempts += 1;
    const planned = move.fault === undefined ? fault : undefined;
    const ended = await runOnce(fleet, options, move, planned);
    if (ended.result && ended.result.outcome !== "undone") {
      move.pauseMs = ended.result.pauseMs;
      move.endedAt = performance.now();
      return move;
    }
    if (ended.result) move.undone += 1;
    else if (ended.signal === null) failures.push(ended.errors.trim().split("\n").slice(0, 6).join(" | "));
    if (performance.now() - move.startedAt > maxMs)
      fail(`the move of ${account.accountId} from ${from} to ${to} did not end: ${failures.at(-1) ?? "undone"}`);
    // A hold of a killed server is pending until it expires.
    await wait(ended.result ? 2_000 : 200);
  }
}

interface Ended {
  result: { outcome: "moved" | "undone" | "already_there"; pauseMs: number } | undefined;
  signal: NodeJS.Signals | null;
  errors: string;
}

const script = new URL("run-mover.ts", import.meta.url).pathname;

async function runOnce(fleet: Fleet, options: MoveOptions, move: Move, fault: Fault | undefined): Promise<Ended> {
  const { account, from, to, inject, onStep } = options;
  const args = ["--fleet", fleet.fleetFile, "--account", account.accountId, "--to", to];
  if (fault?.kind === "mover") args.push("--kill-at", fault.step, "--after-ms", String(fault.afterMs));
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: `${fleet.folder}/compiled` },
  });
  const abandon = (): boolean => child.kill("SIGKILL");
  process.once("exit", abandon);
  const closed = once(child, "close");
  let result: Ended["result"];
  let injected: Promise<void> | undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [, word, rest = ""] = /^(\w+) (.*)$/.exec(line) ?? [];
    if (word === "result") result = JSON.parse(rest) as Ended["result"];
    if (word !== "step") return;
    onStep(rest);
    if (fault === undefined || fault.kind === "mover" || fault.step !== rest || injected) return;
    recordFault(move, fault);
    injected = inject(fault.kind, { from, to });
  });
  const errors = await text(child.stderr);
  await closed;
  process.removeListener("exit", abandon);
  await injected;
  if (child.signalCode === "SIGKILL" && fault?.kind === "mover") recordFault(move, fault);
  return { result, signal: child.signalCode, errors };
}

function recordFault(move: Move, { kind, step }: Fault): void {
  move.fault = kind;
  move.faultStep = step;
}
