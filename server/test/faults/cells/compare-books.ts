import type { Micros } from "../../../src/lib/money.ts";
import type { LoadEntry } from "./fleet-load.ts";

// Compares what callers saw with the ledgers of all cells. The history of an account that was moved is spread over the cells
// that it was in, so a search is looked up in all of them. Shares no code with the server.
//
//   a 200 with Wallet-Charge 0.01   charged once in one cell, one cent, to that wallet
//   any other answer                not charged in any cell
//   a closed connection             charged at most once
//   an Idempotency-Key              charged at most once, and always answered the same
//   a wallet                        its balances in all cells sum to what it received minus what it paid

export interface Books {
  cell: string;
  wallets: { id: string; balance: Micros; held: Micros }[];
  searches: { id: string; walletId: string; state: string; keyHmac: string | null }[];
  captures: { id: string; walletId: string; amount: Micros }[];
}

/** Apart from searches. */
export type ExpectedMoney = (walletId: string) => { credited: Micros; debited: Micros };

const price = 10_000n;

export function compareBooks(
  all: readonly Books[],
  entries: readonly Omit<LoadEntry, "account">[],
  expected: ExpectedMoney,
): string[] {
  const captures = Map.groupBy(
    all.flatMap(({ cell, captures: own }) => own.map((capture) => ({ cell, ...capture }))),
    ({ id }) => id,
  );
  const searches = new Map(all.flatMap(({ searches: own }) => own.map((search) => [search.id, search])));
  return [
    ...checkAnswers(entries, captures),
    ...checkUnexplained(entries, captures, searches),
    ...checkKeys(entries, all),
    ...checkMoney(all, expected),
  ];
}

type Entry = Omit<LoadEntry, "account">;
type Capture = Books["captures"][number] & { cell: string };

function checkAnswers(entries: readonly Entry[], captures: ReadonlyMap<string, Capture[]>): string[] {
  const answered = new Set<string>();
  return entries.flatMap(({ walletId, outcome }) => {
    if (outcome.kind !== "answered") return [];
    const { requestId, status, code, isReplayed, charge } = outcome;
    const name = `${status} ${code ?? ""} of ${requestId}`;
    const isPaid = status === 200 && !isReplayed;
    const found = captures.get(requestId) ?? [];
    const violations: string[] = [];
    if (answered.has(requestId)) violations.push(`${name} was answered twice`);
    answered.add(requestId);
    if (charge !== (isPaid ? "0.01;currency=usd" : "0.00;currency=usd"))
      violations.push(`${name} has Wallet-Charge ${charge}`);
    if (found.length !== (isPaid ? 1 : 0))
      violations.push(`${name} was charged ${found.length} times: ${found.map(({ cell }) => cell).join(", ")}`);
    if (found.some((capture) => capture.walletId !== walletId || capture.amount !== price))
      violations.push(`${name} was charged to another wallet, or not one cent`);
    return violations;
  });
}

/** Only a caller without an answer may have been charged without knowing it. */
function checkUnexplained(
  entries: readonly Entry[],
  captures: ReadonlyMap<string, Capture[]>,
  searches: ReadonlyMap<string, Books["searches"][number]>,
): string[] {
  const answered = new Set(entries.map(({ outcome }) => (outcome.kind === "answered" ? outcome.requestId : "")));
  const nameOf = (walletId: string, hasKey: boolean): string => `${walletId} ${hasKey ? "with" : "without"} a key`;
  const closed = Map.groupBy(
    entries.filter(({ outcome }) => outcome.kind === "closed"),
    ({ walletId, idempotencyKey }) => nameOf(walletId, idempotencyKey !== undefined),
  );
  const unexplained = Map.groupBy(
    [...captures.values()].flat().filter(({ id }) => !answered.has(id)),
    ({ id, walletId }) => nameOf(walletId, (searches.get(id)?.keyHmac ?? null) !== null),
  );
  return [...unexplained]
    .filter(([name, found]) => found.length > (closed.get(name)?.length ?? 0))
    .map(([name, found]) => `wallet ${name}: ${found.length} charges without an answer`);
}

function checkKeys(entries: readonly Entry[], all: readonly Books[]): string[] {
  const violations: string[] = [];
  const charged = Map.groupBy(
    all.flatMap(({ searches }) => searches).filter(({ state, keyHmac }) => state === "captured" && keyHmac !== null),
    ({ walletId, keyHmac }) => `${walletId} ${keyHmac}`,
  );
  for (const [name, found] of charged)
    if (found.length > 1)
      violations.push(`the Idempotency-Key of wallet and HMAC ${name} was charged ${found.length} times`);
  const byKey = Map.groupBy(
    entries.filter(({ idempotencyKey }) => idempotencyKey !== undefined),
    ({ idempotencyKey }) => idempotencyKey ?? "",
  );
  for (const [key, own] of byKey) {
    const answers = own.flatMap(({ outcome }) =>
      outcome.kind === "answered" && outcome.status === 200 ? [outcome] : [],
    );
    const paid = answers.filter(({ isReplayed }) => !isReplayed).length;
    if (paid > 1) violations.push(`Idempotency-Key ${key} was answered ${paid} times as paid`);
    if (new Set(answers.map(({ text }) => text)).size > 1)
      violations.push(`Idempotency-Key ${key} got different answers`);
    const mayBeCharged = paid === 1 || own.some(({ outcome }) => outcome.kind === "closed");
    if (answers.length > 0 && !mayBeCharged) violations.push(`Idempotency-Key ${key} was replayed and never paid`);
  }
  return violations;
}

function checkMoney(all: readonly Books[], expected: ExpectedMoney): string[] {
  const captured = Map.groupBy(
    all.flatMap(({ captures }) => captures),
    ({ walletId }) => walletId,
  );
  const balances = Map.groupBy(
    all.flatMap(({ wallets }) => wallets),
    ({ id }) => id,
  );
  return [...balances].flatMap(([id, copies]) => {
    const { credited, debited } = expected(id);
    const spent = sum((captured.get(id) ?? []).map(({ amount }) => amount));
    const balance = sum(copies.map((copy) => copy.balance));
    const held = sum(copies.map((copy) => copy.held));
    return [
      ...(balance === credited - debited - spent
        ? []
        : [`wallet ${id}: its balances sum to ${balance}, not ${credited - debited - spent}`]),
      ...(held === 0n ? [] : [`wallet ${id} still holds ${held}`]),
    ];
  });
}

function sum(amounts: readonly Micros[]): Micros {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
