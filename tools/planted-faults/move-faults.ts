import type { PlantedFault } from "./planted-fault.ts";

const moves = "server/sql/moves.sql";
const move = "fleet/move.test";
const fence = "src/wallet/fence.test";
const everything = "an account moves with its balance, keys, budgets, runs and stored answers, and back";
const holds = "holds are refused, and searches in flight are captured, released and expired";

export const moveFaults: PlantedFault[] = [
  {
    description: "a single hold is accepted while its account is moved",
    file: "server/sql/hold.sql",
    find: "and w.suspended_at is null and w.fenced_until is null\n",
    replace: "and w.suspended_at is null\n",
    tests: [fence],
    caughtBy: holds,
  },
  {
    description: "a batch of holds is accepted while its account is moved",
    file: "server/sql/hold.sql",
    find: "where w.suspended_at is null and w.fenced_until is null and k.mode",
    replace: "where w.suspended_at is null and k.mode",
    tests: [fence],
    caughtBy: holds,
  },
  {
    description: "a top-up expires while its account is moved",
    file: "server/sql/payments.sql",
    find: "      and exists (select from pb.wallets w where w.id = d.wallet_id and w.fenced_until is null)\n",
    replace: "",
    tests: [fence],
    caughtBy: "automatic top-ups do not start and unpaid ones do not expire while the wallet is fenced",
  },
  {
    description: "an account is handed over after its fence has ended",
    file: moves,
    find: "or exists (select from pb.wallets w where w.id = any (own_wallets) and w.fenced_until is distinct from p_fence)",
    replace: "",
    tests: [move],
    caughtBy: "a hand-over after the end of the fence is refused, and a search in between is not lost",
  },
  {
    description: "stored answers stay in the previous cell",
    file: moves,
    find: "i.claimed_at >= p_since and i.answer is not null",
    replace: "i.claimed_at >= p_since and i.answer is null",
    tests: [move],
    caughtBy: everything,
  },
  {
    description: "what was spent in another cell is counted twice after the account has returned",
    file: moves,
    find: "n.total_spent_micros - coalesce(o.total_spent_micros - coalesce(e.total_micros, 0), 0)",
    replace: "n.total_spent_micros",
    tests: [move],
    caughtBy: everything,
  },
  {
    description: "a server does not forward requests of a moved account",
    file: "server/src/search/hold-problem.ts",
    find: "return new AccountMoved(walletId);",
    replace: 'return new Problem("account_moving");',
    tests: [move],
    caughtBy: everything,
  },
  {
    description: "an account becomes active in the other cell before it is handed over",
    file: moves,
    find: "select w.id, w.name, w.account_id, w.created_at, 'infinity'",
    replace: "select w.id, w.name, w.account_id, w.created_at, null",
    tests: [move],
    caughtBy: "a move that is interrupted after any step is completed by repeating it",
  },
];
