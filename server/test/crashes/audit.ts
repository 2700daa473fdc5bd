import pg from "pg";
import type { Answered, JournalEntry } from "./journal.ts";

// The second opinion. It knows the contract and the tables, and shares no code with the server: every row is read in
// one snapshot and counted again here.
//
//   a 200 that says 0.01      charged once, that much, to that wallet
//   a 200 that is replayed    charged nothing, and its key was paid for once
//   any other answer          charged nothing
//   a closed connection       charged or not, at most once
//   an Idempotency-Key        charged at most once, and always answered the same

export interface AuditReport {
  faults: string[];
  counts: { charged: number; replayed: number; errors: number; closedCharged: number; closedFree: number };
}

/** To be asked after the dust has settled: a hold that is still pending is a fault. */
export async function audit(ownerUrl: string, journal: readonly JournalEntry[]): Promise<AuditReport> {
  const ledger = await readLedger(ownerUrl);
  const answered = journal.flatMap(({ walletId, seen }) => (seen.kind === "answered" ? [{ walletId, seen }] : []));
  const walletIds = [...new Set(journal.map((entry) => entry.walletId))];
  const strays = walletIds.flatMap((walletId) => unexplainedCharges(ledger, walletId, answered));
  const closed = journal.filter((entry) => entry.seen.kind === "closed").length;
  return {
    faults: [
      ...answered.flatMap(({ walletId, seen }) => checkAnswer(ledger, walletId, seen)),
      ...ledger.wallets.flatMap((wallet) => checkSums(ledger, wallet)),
      ...walletIds.flatMap((walletId) => checkStrays(ledger, walletId, journal, answered)),
      ...walletIds.flatMap((walletId) => checkKeys(ledger, walletId, journal)),
    ],
    counts: {
      charged: answered.filter(({ seen }) => seen.charge === paid).length,
      replayed: answered.filter(({ seen }) => seen.isReplayed).length,
      errors: answered.filter(({ seen }) => seen.status !== 200).length,
      closedCharged: strays.length,
      closedFree: closed - strays.length,
    },
  };
}

const paid = "0.01;currency=usd";
const free = "0.00;currency=usd";
const cent = 10_000n;

interface Wallet {
  id: string;
  credited: bigint;
  debited: bigint;
  held: bigint;
}

interface Search {
  id: string;
  walletId: string;
  state: string;
  price: bigint;
  hmac: string | null;
}

interface Transfer {
  id: string;
  walletId: string;
  kind: string;
  from: string;
  to: string;
  amount: bigint;
  searchId: string | null;
}

interface LedgerRows {
  wallets: Wallet[];
  searches: Map<string, Search>;
  searchesOf: Map<string, Search[]>;
  transfersOf: Map<string, Transfer[]>;
  /** Capture transfers by the search they name. */
  charges: Map<string, Transfer[]>;
}

async function readLedger(ownerUrl: string): Promise<LedgerRows> {
  const client = new pg.Client({ connectionString: ownerUrl, types: { getTypeParser: () => String } });
  await client.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    const wallets = await readRows(client, "select id, credited_micros, debited_micros, held_micros from pb.wallets");
    const searches = await readRows(
      client,
      "select id, wallet_id, state, price_micros, encode(idempotency_hmac, 'hex') from pb.searches",
    );
    const transfers = await readRows(
      client,
      "select id, wallet_id, kind, from_account, to_account, amount_micros, search_id from pb.transfers",
    );
    return arrange(wallets, searches, transfers);
  } finally {
    await client.end();
  }
}

type Row = (string | null)[];

async function readRows(client: pg.Client, text: string): Promise<Row[]> {
  return (await client.query<Row>({ text, rowMode: "array" })).rows;
}

function arrange(walletRows: Row[], searchRows: Row[], transferRows: Row[]): LedgerRows {
  const wallets = walletRows.map(([id, credited, debited, held]) => ({
    id: id ?? "",
    credited: BigInt(credited ?? 0),
    debited: BigInt(debited ?? 0),
    held: BigInt(held ?? 0),
  }));
  const searches = searchRows.map(([id, walletId, state, price, hmac]) => ({
    id: id ?? "",
    walletId: walletId ?? "",
    state: state ?? "",
    price: BigInt(price ?? 0),
    hmac: hmac ?? null,
  }));
  const transfers = transferRows.map(([id, walletId, kind, from, to, amount, searchId]) => ({
    id: id ?? "",
    walletId: walletId ?? "",
    kind: kind ?? "",
    from: from ?? "",
    to: to ?? "",
    amount: BigInt(amount ?? 0),
    searchId: searchId ?? null,
  }));
  return {
    wallets,
    searches: new Map(searches.map((search) => [search.id, search])),
    searchesOf: Map.groupBy(searches, (search) => search.walletId),
    transfersOf: Map.groupBy(transfers, (transfer) => transfer.walletId),
    charges: Map.groupBy(
      transfers.filter((transfer) => transfer.kind === "capture"),
      (transfer) => transfer.searchId ?? "",
    ),
  };
}

function checkAnswer(ledger: LedgerRows, walletId: string, seen: Answered): string[] {
  const name = `${seen.status} ${seen.code ?? ""} of ${seen.requestId}`;
  const charges = ledger.charges.get(seen.requestId) ?? [];
  const state = ledger.searches.get(seen.requestId)?.state;
  const says = seen.status === 200 && !seen.isReplayed ? paid : free;
  const faults: string[] = [];
  if (seen.charge !== says) faults.push(`${name} says Wallet-Charge ${seen.charge}, not ${says}`);
  if (says === paid) {
    if (charges.length !== 1) faults.push(`${name} was charged ${charges.length} times`);
    if (charges.some((charge) => charge.walletId !== walletId || charge.amount !== cent))
      faults.push(`${name} was charged to another wallet or not one cent`);
    if (state !== "captured") faults.push(`${name} is ${state} in the ledger`);
  } else {
    if (charges.length > 0) faults.push(`${name} was charged`);
    if (state !== undefined && state !== "released" && state !== "expired")
      faults.push(`${name} is ${state} in the ledger`);
  }
  return faults;
}

function checkSums(ledger: LedgerRows, { id, credited, debited, held }: Wallet): string[] {
  const transfers = ledger.transfersOf.get(id) ?? [];
  const searches = ledger.searchesOf.get(id) ?? [];
  const sum = (amounts: bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);
  const into = sum(transfers.filter(({ to }) => to === "wallet").map(({ amount }) => amount));
  const outOf = sum(transfers.filter(({ from }) => from === "wallet").map(({ amount }) => amount));
  const captured = searches.filter(({ state, price }) => state === "captured" && price > 0n);
  const faults: string[] = [];
  if (into !== credited) faults.push(`wallet ${id} credits ${credited}, its transfers ${into}`);
  if (outOf !== debited) faults.push(`wallet ${id} debits ${debited}, its transfers ${outOf}`);
  if (credited - debited - held < 0n) faults.push(`wallet ${id} is below zero`);
  if (held !== 0n) faults.push(`wallet ${id} still holds ${held}`);
  for (const { id: searchId, state } of searches)
    if (state === "pending") faults.push(`search ${searchId} is still pending`);
  for (const { id: searchId } of captured)
    if (ledger.charges.get(searchId)?.length !== 1) faults.push(`captured search ${searchId} has not one charge`);
  const charged = transfers.filter(({ kind }) => kind === "capture");
  if (charged.length !== captured.length)
    faults.push(`wallet ${id} has ${captured.length} captured searches and ${charged.length} charges`);
  return faults;
}

type AnsweredOf = { walletId: string; seen: Answered };

/** Charges that no answer of ours explains. */
function unexplainedCharges(ledger: LedgerRows, walletId: string, answered: AnsweredOf[]): Transfer[] {
  const explained = new Set(answered.map(({ seen }) => seen.requestId));
  const transfers = ledger.transfersOf.get(walletId) ?? [];
  return transfers.filter(({ kind, searchId }) => kind === "capture" && !explained.has(searchId ?? ""));
}

/** Whoever saw nothing may have been charged; nobody else. With a key and without are different callers. */
function checkStrays(
  ledger: LedgerRows,
  walletId: string,
  journal: readonly JournalEntry[],
  answered: AnsweredOf[],
): string[] {
  const strays = unexplainedCharges(ledger, walletId, answered);
  return [true, false].flatMap((hasKey) => {
    const found = strays.filter(({ searchId }) => Boolean(ledger.searches.get(searchId ?? "")?.hmac) === hasKey);
    const closed = journal.filter(
      (entry) =>
        entry.walletId === walletId && entry.seen.kind === "closed" && (entry.idempotencyKey !== undefined) === hasKey,
    );
    if (found.length <= closed.length) return [];
    return [`wallet ${walletId} has ${found.length} charges for ${closed.length} closed connections (key: ${hasKey})`];
  });
}

function checkKeys(ledger: LedgerRows, walletId: string, journal: readonly JournalEntry[]): string[] {
  const faults: string[] = [];
  const captured = (ledger.searchesOf.get(walletId) ?? []).filter(({ state, hmac }) => state === "captured" && hmac);
  for (const [hmac, searches] of Map.groupBy(captured, (search) => search.hmac))
    if (searches.length > 1) faults.push(`Idempotency-Key with HMAC ${hmac} was charged ${searches.length} times`);

  const ofWallet = journal.filter((entry) => entry.walletId === walletId && entry.idempotencyKey !== undefined);
  let fewest = 0;
  let most = 0;
  for (const [key, entries] of Map.groupBy(ofWallet, (entry) => entry.idempotencyKey)) {
    const answers = entries.flatMap(({ seen }) => (seen.kind === "answered" && seen.status === 200 ? [seen] : []));
    const charged = answers.filter((seen) => seen.charge === paid).length;
    if (charged > 1) faults.push(`Idempotency-Key ${key} was told ${charged} times that it paid`);
    if (new Set(answers.map((seen) => seen.text)).size > 1) faults.push(`Idempotency-Key ${key} got two answers`);
    if (answers.length > 0) fewest += 1;
    if (answers.length > 0 || entries.some(({ seen }) => seen.kind === "closed")) most += 1;
  }
  if (captured.length < fewest) faults.push(`wallet ${walletId}: ${fewest} keys answered, ${captured.length} charged`);
  if (captured.length > most) faults.push(`wallet ${walletId}: ${most} keys could be charged, ${captured.length} were`);
  return faults;
}
