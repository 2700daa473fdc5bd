import { randomUUIDv7 } from "node:crypto";
import { uuidOf } from "../support/data/uuid-of.ts";

/** Maps numbers to search ids. The first ids of two wallets are from servers with clocks two days off. */
export function createSearchIds(skewedIds: Set<string>): (wallet: number, search: number) => string {
  const dayMs = 86_400_000;
  const ids = new Map([
    ["0 0", uuidOf(Date.now() - 2 * dayMs)],
    ["1 0", uuidOf(Date.now() + 2 * dayMs)],
  ]);
  for (const id of ids.values()) skewedIds.add(id);
  return (wallet, search) => {
    const id = ids.get(`${wallet} ${search}`) ?? randomUUIDv7();
    ids.set(`${wallet} ${search}`, id);
    return id;
  };
}
