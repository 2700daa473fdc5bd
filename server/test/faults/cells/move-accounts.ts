import { percentile } from "../../../../bench/time-requests.ts";
import { createRandom, type Random } from "../random.ts";
import { ageHolds, auditFleet } from "./audit-fleet.ts";
import { findLostActions, findOwners } from "./audit-moves.ts";
import { classifyErrors, type Errors } from "./classify-errors.ts";
import { type Fault, faultKinds, moveSteps, Outages, planFaults } from "./faults.ts";
import { cellNames, type Fleet, type FleetAccount, fail } from "./fleet.ts";
import { countOutcomes, FleetLoad, isSuccess, type LoadEntry, latency } from "./fleet-load.ts";
import { type Move, runMove } from "./move-account.ts";
import { type ActionKind, OwnerActions } from "./owner-actions.ts";
import type { PartResult } from "./part-result.ts";
import { type OwnerWatch, readActive, watchOwners } from "./watch-owners.ts";

// Accounts are moved between the cells while callers search, owners change things, and movers, servers and databases are
// killed. Afterwards all ledgers are compared with what the callers saw.

export interface MovesOptions {
  accounts: readonly FleetAccount[];
  searchesPerSecond: number;
  moves: number;
  kills: number;
  /** How many accounts move. Each moves there and back several times. */
  travellers: number;
  /** Moves at the same time. */
  lanes: number;
  seed: number;
  holdLifetimeMs: number | undefined;
  /** Pauses of moves without a kill. Undefined: only reported. */
  maxPausesMs: { p50: number; p99: number } | undefined;
  log: (line: string) => void;
}

interface Run {
  fleet: Fleet;
  options: MovesOptions;
  load: FleetLoad;
  outages: Outages;
  actions: OwnerActions;
  random: Random;
  faults: Fault[];
  moves: Move[];
}

export async function moveAccounts(fleet: Fleet, options: MovesOptions): Promise<PartResult> {
  const { accounts, searchesPerSecond, seed, holdLifetimeMs } = options;
  // A dispute suspends the account, so those of the payments do not search.
  const payers = cellNames.map((name) => accounts.find(({ home }) => home === name) ?? fail(`${name} is empty`));
  const searching = accounts.filter((account) => !payers.includes(account));
  const travellers = [...payers.slice(0, 1), ...searching.slice(0, options.travellers - 1)];
  const watch = watchOwners(
    new Map(fleet.cells.map((cell) => [cell.name, (ids) => readActive(cell, ids)])),
    travellers.map(({ accountId }) => accountId),
  );
  const load = new FleetLoad({
    url: fleet.url,
    accounts: searching,
    searchesPerSecond,
    random: createRandom(seed, "callers of moves"),
  });
  const random = createRandom(seed, "moves");
  const run: Run = {
    fleet,
    options,
    load,
    outages: new Outages(fleet),
    actions: new OwnerActions(fleet),
    random,
    faults: planFaults(options.kills, random),
    moves: [],
  };
  const aging = startAging(fleet, holdLifetimeMs);
  const lanes = Array.from({ length: options.lanes }, (_, lane) =>
    runLane(
      run,
      travellers.filter((_account, index) => index % options.lanes === lane),
      new Set(payers),
    ),
  );
  await Promise.all(lanes);
  await run.actions.end();
  await run.outages.end();
  await load.stop();
  await watch.stop();
  clearInterval(aging);
  return report(run, watch);
}

/** Moves its accounts in turn until all moves are done. */
async function runLane(run: Run, accounts: readonly FleetAccount[], payers: ReadonlySet<FleetAccount>): Promise<void> {
  const { options, random } = run;
  const share = Math.ceil(options.moves / options.lanes);
  const cells = new Map(accounts.map((account) => [account, account.home]));
  const chooseAction = rotateActions();
  for (let index = 0; index < share || run.faults.length > 0; index += 1) {
    const account = accounts[index % accounts.length] ?? fail("a lane has no accounts");
    const from = cells.get(account) ?? account.home;
    const to = from === account.home ? random.pick(cellNames.filter((name) => name !== from)) : account.home;
    // Spread over all moves. Faults that came too late are injected into additional moves.
    const countFaults = (moves: number): number => Math.floor((moves * options.kills) / options.moves);
    const isFaulty = index >= share || countFaults(index + 1) > countFaults(index);
    const action = chooseAction(payers.has(account));
    await moveOnce(run, { account, from, to, action, fault: isFaulty ? run.faults.shift() : undefined });
    cells.set(account, to);
  }
}

/** A refund and a dispute each need a payment. */
const payerActions: readonly ActionKind[] = ["payment", "payment", "refund", "dispute"];
const callerActions: readonly ActionKind[] = ["credit", "revocation"];

function rotateActions(): (isPayer: boolean) => ActionKind {
  const counts = { payer: 0, caller: 0 };
  return (isPayer) => {
    const kinds = isPayer ? payerActions : callerActions;
    const index = isPayer ? counts.payer++ : counts.caller++;
    return kinds[index % kinds.length] ?? "credit";
  };
}

interface Planned {
  account: FleetAccount;
  from: string;
  to: string;
  action: ActionKind;
  fault: Fault | undefined;
}

async function moveOnce(run: Run, { action, ...planned }: Planned): Promise<void> {
  const { fleet, load, actions, outages, moves, options } = run;
  const { account, from, to, fault } = planned;
  const send = await actions.prepare(action, account, { from, to });
  let isSent = false;
  // Searches of an account with a dispute fail.
  if (callerActions.includes(action)) load.focus.add(account);
  const move = await runMove(fleet, {
    ...planned,
    inject: (kind, cells) => outages.inject(kind, cells),
    onStep(step) {
      if (step !== "fence" || isSent) return;
      isSent = true;
      send();
    },
  });
  load.focus.delete(account);
  moves.push(move);
  // A planned fault that the move escaped is used again.
  if (fault && move.fault === undefined) run.faults.push(fault);
  if (!isSent) send();
  const title = `${from} to ${to}, pause ${Math.round(move.pauseMs)} ms, ${Math.round(move.endedAt - move.startedAt)} ms in total`;
  options.log(
    `${moves.length} of ${options.moves}: ${title}${fault ? `, ${move.fault ?? "no"} kill at ${fault.step}` : ""}`,
  );
}

function startAging({ cells }: Fleet, holdLifetimeMs: number | undefined): NodeJS.Timeout | undefined {
  if (holdLifetimeMs === undefined) return undefined;
  return setInterval(() => {
    // The database may be unavailable at this moment.
    for (const { owner } of cells) owner.query(ageHolds, [holdLifetimeMs]).catch(() => undefined);
  }, 500);
}

async function report(run: Run, watch: OwnerWatch): Promise<PartResult> {
  const { fleet, options, load, actions, moves, outages } = run;
  const { entries } = load;
  const errors = classifyErrors(entries, moves, outages);
  const { owners, violations: misplaced } = await findOwners(fleet, options.accounts);
  const lostActions = await findLostActions(fleet, owners, actions);
  const expected = actions.expected.bind(actions);
  const audited = await auditFleet(fleet, entries, { ...options, expected });
  const pauses = findPauses(run);
  return {
    title: "Live moves",
    lines: [
      ...describeMoves(run),
      `pauses of ${pauses.length} moves without a kill: p50 ${percentile(pauses, 50).toFixed(0)} ms, p99 ${percentile(pauses, 99).toFixed(0)} ms, longest ${Math.max(...pauses).toFixed(0)} ms`,
      `time without an active cell, in all moves, as seen from outside: ${describeGaps(watch)}`,
      `searches: ${entries.length}, ${entries.filter(isSuccess).length} answered with 200, p50 ${latency(entries, 50).toFixed(1)} ms, p99 ${latency(entries, 99).toFixed(1)} ms, p99.9 ${latency(entries, 99.9).toFixed(1)} ms`,
      ...describeErrors(errors),
      `changes sent during a fence: ${Object.entries(Object.groupBy(actions.acknowledged, ({ kind }) => kind))
        .map(([kind, all]) => `${kind} ${all.length}`)
        .join(", ")}`,
      `${watch.snapshots()} comparisons of the active cell of each account`,
    ],
    violations: [
      ...load.violations,
      ...watch.violations,
      ...actions.violations,
      ...misplaced,
      ...audited,
      ...lostActions,
      ...errors.move.map((entry) => `error caused by a move: ${describeError(entry)}`),
      ...errors.unexplained.map((entry) => `error without a cause: ${describeError(entry)}`),
      ...checkCoverage(run),
      ...checkPauses(pauses, options.maxPausesMs),
    ],
  };
}

/** Those of moves that no fault has touched. */
function findPauses({ moves, outages }: Run): number[] {
  return moves
    .filter(
      ({ fault, from, to, startedAt, endedAt }) =>
        fault === undefined && !outages.overlaps([from, to], startedAt, endedAt),
    )
    .map(({ pauseMs }) => pauseMs);
}

function describeMoves({ moves }: Run): string[] {
  const kills = faultKinds.map((kind) => `${kind} ${moves.filter(({ fault }) => fault === kind).length}`);
  const killedAt = moveSteps.map((step) => `${step} ${moves.filter(({ faultStep }) => faultStep === step).length}`);
  const perAccount = [...Map.groupBy(moves, ({ account }) => account).values()].map((own) => own.length);
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  return [
    `${moves.length} moves of ${perAccount.length} accounts, each ${Math.min(...perAccount)} to ${Math.max(...perAccount)} times`,
    `kills: ${kills.join(", ")}; after the steps ${killedAt.join(", ")}`,
    `${sum(moves.map(({ attempts }) => attempts))} movers started, ${sum(moves.map(({ undone }) => undone))} attempts undone`,
  ];
}

function describeGaps({ gaps }: OwnerWatch): string {
  const durations = gaps.map(({ from, to }) => to - from);
  if (durations.length === 0) return "none seen";
  return `${durations.length} seen, p50 ${percentile(durations, 50).toFixed(0)} ms, p99 ${percentile(durations, 99).toFixed(0)} ms, longest ${Math.max(...durations).toFixed(0)} ms`;
}

function describeError(entry: LoadEntry): string {
  const { outcome, walletId, sentAt, endedAt } = entry;
  const id = outcome.kind === "answered" ? `, request ${outcome.requestId}` : "";
  const at = new Date(performance.timeOrigin + sentAt).toISOString();
  return `${countOutcomes([entry])}, wallet ${walletId}${id}, sent at ${at}, ${Math.round(endedAt - sentAt)} ms`;
}

function describeErrors({ move, moverKilled, outage, unexplained }: Errors): string[] {
  return [
    `errors during moves without a kill: ${countOutcomes(move)}`,
    `errors while the mover of the account was killed: ${countOutcomes(moverKilled)}`,
    `errors in cells with a killed server or database: ${countOutcomes(outage)}`,
    `other errors: ${countOutcomes(unexplained)}`,
  ];
}

function checkCoverage({ moves, options }: Run): string[] {
  const killed = moves.filter(({ fault }) => fault !== undefined);
  const missing = moveSteps.filter((step) => !killed.some(({ faultStep }) => faultStep === step));
  return [
    ...(moves.length < options.moves ? [`only ${moves.length} moves`] : []),
    ...(killed.length < options.kills ? [`only ${killed.length} kills`] : []),
    ...(options.kills > 0 ? missing.map((step) => `nothing was killed after the step ${step}`) : []),
  ];
}

function checkPauses(pauses: readonly number[], max: MovesOptions["maxPausesMs"]): string[] {
  if (!max) return [];
  return ([50, 99] as const).flatMap((percent) => {
    const value = percentile(pauses, percent);
    const limit = percent === 50 ? max.p50 : max.p99;
    return value <= limit ? [] : [`the p${percent} of pauses is ${value.toFixed(0)} ms, above ${limit} ms`];
  });
}
