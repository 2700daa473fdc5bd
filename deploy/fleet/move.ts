import { setTimeout as sleep } from "node:timers/promises";
import {
  type CellConnection,
  type CellDatabase,
  connectCells,
  type Place,
  readPlaces,
} from "../../server/src/operator/connect-cells.ts";
import { FleetFault } from "../../server/src/operator/operator-client.ts";
import { findFaults, type MoveSize, measureMove } from "./check-move.ts";
import { routeLabel } from "./route-label.ts";

// Moves an account to another cell while it is used. server/sql/moves.sql describes the protocol. Every step can be
// interrupted: the same command resumes the move, or starts it again if the account was not handed over.

export interface MoveOptions {
  cells: readonly CellDatabase[];
  account: string;
  to: string;
  /** Runtime sockets of HAProxy. */
  edgeSockets?: readonly string[];
  operator: string;
  reason: string;
  /** Both cells use the same account at the payment processor. */
  hasSamePaymentAccount?: boolean;
  /** Called after each step. */
  onStep?: (step: MoveStep) => void | Promise<void>;
  /** How long searches in flight have to end. Longer ones end the fence, so that callers get through. */
  maxDrainMs?: number;
  attempts?: number;
}

export const moveSteps = ["check", "copy", "fence", "drain", "import", "hand_over", "activate", "edge"] as const;
export type MoveStep = (typeof moveSteps)[number];

export interface Moved {
  /** undone: searches stayed in flight for too long, several times. The account is where it was. */
  outcome: "moved" | "undone" | "already_there";
  /** How long the account accepted no writes. 0 if this run did not fence it. */
  pauseMs: number;
  epoch: number;
}

/** A fence never lasts longer. Searches wait for it. */
const fenceMs = 8_000;

export async function moveAccount(options: MoveOptions): Promise<Moved> {
  const cells = await connectCells(options.cells);
  try {
    return await move(options, await readMove(options, cells));
  } finally {
    for (const cell of cells) await cell.close();
  }
}

/** What a move would carry and what prevents it, without moving anything. */
export async function previewMove(options: MoveOptions): Promise<MoveSize & { from: string; faults: string[] }> {
  const cells = await connectCells(options.cells);
  try {
    const ends = await readMove(options, cells);
    const faults = await findFaults(ends, options.hasSamePaymentAccount);
    return { ...(await measureMove(ends)), from: ends.source.name, faults };
  } finally {
    for (const cell of cells) await cell.close();
  }
}

interface Move {
  account: string;
  places: Place[];
  owner: Owner;
  source: CellConnection;
  target: CellConnection;
}

async function readMove({ account, to }: MoveOptions, cells: readonly CellConnection[]): Promise<Move> {
  const places = await readPlaces(cells, account);
  const owner = findOwner(places, account);
  const source = cells.find(({ name }) => name === owner.cell);
  const target = cells.find(({ name }) => name === to);
  if (!target || !source) throw new FleetFault(`${target ? owner.cell : to} is not a cell of the fleet`);
  return { account, places, owner, source, target };
}

async function move(options: MoveOptions, { places, owner, source, target }: Move): Promise<Moved> {
  const { account, to, onStep = () => undefined, attempts = 5 } = options;
  await onStep("check");
  if (owner.cell === to) return resume(options, { target, owner });
  const faults = await findFaults({ source, target, account }, options.hasSamePaymentAccount);
  if (faults.length > 0) throw new FleetFault(faults.join("\n"));

  await onStep("copy");
  const exported = await source.readText("select pb.export_account($1)", [account]);
  await target.query("select pb.prepare_arrival($1)", [exported]);
  const copyStarted = await source.readText("select clock_timestamp()", []);
  await copyClaims(source, target, account, copyStarted, "25 hours");
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const moved = await attemptMove(options, { source, target, epoch: owner.epoch + 1, copyStarted });
    if (moved) {
      await updateEdges(options, places, to);
      return moved;
    }
    // Callers that waited get through before the next attempt.
    await sleep(1_000 * attempt);
  }
  await target.query("select pb.discard_arrival($1, $2)", [account, owner.epoch + 1]);
  return { outcome: "undone", pauseMs: 0, epoch: owner.epoch };
}

interface Owner {
  cell: string;
  epoch: number;
}

/** The owner in the highest epoch, or the cell in which an account that never moved is active. */
function findOwner(places: readonly Place[], account: string): Owner {
  const latest = places.toSorted((left, right) => right.epoch - left.epoch)[0];
  if (latest?.ownerCell) return { cell: latest.ownerCell, epoch: latest.epoch };
  const active = places.filter(({ isActive }) => isActive);
  const [only] = active;
  if (!only) throw new FleetFault(`No cell has the account ${account}.`);
  if (active.length > 1) throw new FleetFault(`The account ${account} is active in two cells.`);
  return { cell: only.cell, epoch: 0 };
}

/** The account was handed over. Makes it active if the move was interrupted before. */
async function resume(
  options: MoveOptions,
  { target, owner }: { target: CellConnection; owner: Owner },
): Promise<Moved> {
  const [before] = await readPlaces([target], options.account);
  if (!before?.isActive) {
    await activate(options, target, owner.epoch);
    await options.onStep?.("activate");
  }
  await updateEdges(options, before ? [before] : [], options.to);
  return { outcome: before?.isActive ? "already_there" : "moved", pauseMs: 0, epoch: owner.epoch };
}

interface Attempt {
  source: CellConnection;
  target: CellConnection;
  epoch: number;
  copyStarted: string;
}

/** Returns undefined if the fence ended before the account was handed over. */
async function attemptMove(
  options: MoveOptions,
  { source, target, epoch, copyStarted }: Attempt,
): Promise<Moved | undefined> {
  const { account, to, operator, reason, onStep = () => undefined, maxDrainMs = 5_000 } = options;
  await waitForAbandonedHolds(source, account);
  const fence = await fenceAccount(source, account);
  const fencedAt = performance.now();
  await onStep("fence");
  try {
    if (!(await drain(source, account, fencedAt + maxDrainMs))) return undefined;
    await onStep("drain");
    const exported = await source.readText("select pb.export_account($1)", [account]);
    // A claim can be as much older than its answer as a search takes.
    await copyClaims(source, target, account, copyStarted, "2 minutes");
    await target.query("select pb.import_account($1, $2, $3, $4)", [exported, source.name, epoch, fence]);
    await onStep("import");
    const balances = JSON.stringify((JSON.parse(exported) as { balances: unknown }).balances);
    const handedOver = await source.readText("select pb.hand_over($1, $2, $3, $4, $5, $6, $7)", [
      operator,
      reason,
      account,
      fence,
      to,
      epoch,
      balances,
    ]);
    if (handedOver !== "handed_over") return undefined;
  } finally {
    // Does nothing after the hand-over.
    await source.query("select pb.lift_fence($1, $2)", [account, fence]).catch(() => undefined);
  }
  await onStep("hand_over");
  await activate(options, target, epoch);
  await onStep("activate");
  return { outcome: "moved", pauseMs: performance.now() - fencedAt, epoch };
}

/** A hold that is older than any search was left by a server that was killed. It expires within a minute; a fence is shorter. */
async function waitForAbandonedHolds(source: CellConnection, account: string): Promise<void> {
  const sql = "select pb.count_pending($1, now() - interval '15 seconds')";
  const deadline = performance.now() + 65_000;
  while (performance.now() < deadline && (await source.readText(sql, [account])) !== "0") await sleep(500);
}

/** Waits for the fence of a move that was interrupted, which ends by itself. */
async function fenceAccount(source: CellConnection, account: string): Promise<string> {
  const deadline = performance.now() + 2 * fenceMs;
  for (;;) {
    try {
      return await source.readText("select pb.fence_account($1, $2)", [account, fenceMs]);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "PB003") throw new FleetFault("Another move has handed the account over meanwhile.");
      if (code !== "PB002" || performance.now() > deadline) throw error;
      await sleep(200);
    }
  }
}

/** True when no search of the account is in flight. */
async function drain(source: CellConnection, account: string, deadline: number): Promise<boolean> {
  while (performance.now() < deadline) {
    if ((await source.readText("select pb.count_pending($1)", [account])) === "0") return true;
    await sleep(10);
  }
  return false;
}

async function activate(
  { account, operator, reason }: MoveOptions,
  target: CellConnection,
  epoch: number,
): Promise<void> {
  const outcome = await target.readText("select pb.activate_account($1, $2, $3, $4)", [
    operator,
    reason,
    account,
    epoch,
  ]);
  if (outcome !== "activated")
    throw new FleetFault(`${target.name} has not imported epoch ${epoch} of the account ${account}.`);
}

const claimsPerPage = 500;

/** Copies the answers stored for Idempotency-Keys that were claimed since a time, less the margin. */
async function copyClaims(
  source: CellConnection,
  target: CellConnection,
  account: string,
  since: string,
  margin: string,
): Promise<void> {
  let after: unknown = null;
  for (;;) {
    const page = await source.readText("select pb.export_claims($1, $2::timestamptz - $3::interval, $4, $5)", [
      account,
      since,
      margin,
      after === null ? null : JSON.stringify(after),
      claimsPerPage,
    ]);
    const claims = JSON.parse(page) as Record<string, unknown>[];
    if (claims.length > 0) await target.query("select pb.import_claims($1)", [page]);
    if (claims.length < claimsPerPage) return;
    const { wallet_id, key_hmac, mode } = claims.at(-1) ?? {};
    after = { wallet_id, key_hmac, mode };
  }
}

async function updateEdges(
  { edgeSockets = [], onStep = () => undefined }: MoveOptions,
  places: readonly Place[],
  to: string,
): Promise<void> {
  const label = places.find((place) => place.label !== null)?.label;
  if (label) for (const socket of edgeSockets) await routeLabel(socket, label, to);
  await onStep("edge");
}
