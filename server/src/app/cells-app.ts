import type { ServerConfig } from "../config/config.ts";
import type { Pool } from "../db/pool.ts";
import { createForwarder, type ForwardRequest } from "../http/forward-request.ts";
import { unavailable } from "../http/unavailable.ts";
import { findOwnerCell } from "../keys/keys.ts";
import { AccountMoved } from "../problems/account-moved.ts";

interface Cells {
  /** Throws if another cell serves the wallet. */
  assertServed?: (walletId: string) => Promise<void>;
  forward?: ForwardRequest;
}

/** Empty if there are no other cells. */
export function openCells({ cell, cells }: Pick<ServerConfig, "cell" | "cells">, db: Pool): Cells {
  if (cell === undefined || cells === undefined) return {};
  const findOwner = (walletId: string): Promise<string | null> => findOwnerCell(db, walletId).catch(unavailable);
  const assertServed = async (walletId: string): Promise<void> => {
    if ((await findOwner(walletId)) !== null) throw new AccountMoved(walletId);
  };
  return { assertServed, forward: createForwarder({ cell, cells, findOwner }) };
}
