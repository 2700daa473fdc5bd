import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { type Mode, walletPath } from "./wallet.ts";

/** What is shown of a key where one is chosen or named. */
export interface NamedKey {
  id: string;
  mode: Mode | "mgmt";
  name: string;
  start: string;
  state: "active" | "expired" | "revoked";
}

interface KeysPage {
  keys: NamedKey[];
  next_cursor: string | null;
}

/** Every key of the wallet, newest first. There are 1,000 at most that work. */
export const namedKeysQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "keys", "named"],
    queryFn: ({ signal }) => readKeys(walletId, signal),
    staleTime: 30_000,
  });

async function readKeys(walletId: string, signal: AbortSignal): Promise<NamedKey[]> {
  const found: NamedKey[] = [];
  let cursor = "";
  for (;;) {
    // Each page says where the next begins.
    const page = await api<KeysPage>(walletPath(walletId, `keys?limit=100${cursor}`), { signal });
    found.push(...page.keys);
    if (page.next_cursor === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}
