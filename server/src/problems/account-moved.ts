import { Problem } from "./problems.ts";

/** Another cell serves the account. The request is forwarded to it; if that is not possible, the caller gets this problem. */
export class AccountMoved extends Problem {
  readonly walletId: string;

  constructor(walletId: string) {
    super("account_moving");
    this.walletId = walletId;
  }
}

/** The problem for a write that the fence of a move has rejected. See pb.lock_wallets. */
export function findMoveProblem(error: unknown): Problem | undefined {
  return hasCode(error, "PB002") || isMovedAway(error) ? new Problem("account_moving", { cause: error }) : undefined;
}

/** True if the write was rejected because another cell owns the account. */
export function isMovedAway(error: unknown): boolean {
  return hasCode(error, "PB003");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
