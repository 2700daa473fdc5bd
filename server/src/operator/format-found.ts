import { formatTable } from "../lib/format-table.ts";
import type { Found, FoundRequest, FoundWallet } from "./find.ts";

/** The answer of a look-up as text, for the command line. */
export function formatFound({ request, unknown, wallets, searches, has_more: hasMore }: Found): string {
  const parts = [
    ...(request ? [formatRequest(request, wallets[0])] : []),
    ...(unknown === null ? [] : [`Unknown id. ${unknown}`]),
    ...(!request && wallets.length > 0 ? [formatWallets(wallets)] : []),
    ...(searches.length > 0 ? [formatSearches(searches)] : []),
    ...(hasMore ? ["There are more. Narrow the time, or open the account in the operator console."] : []),
  ];
  return parts.length > 0 ? parts.join("\n\n") : "Nothing found.";
}

/** In the order in which a search takes them. */
const stepNames = ["auth", "hold", "upstream", "rank", "ledger"] as const;

function formatRequest(request: FoundRequest, wallet: FoundWallet | undefined): string {
  const { steps, entries } = request;
  const [key] = wallet?.keys ?? [];
  const facts: [string, string | null | undefined][] = [
    ["request", request.request_id],
    ["kind", request.kind],
    ["at", request.at],
    ["state", request.state],
    ["outcome", request.outcome],
    ["charged", `${request.charged} USD`],
    ["entries", entries.map(({ kind, amount, created_at: at }) => `${kind} ${amount} at ${at}`).join(", ") || "none"],
    ["ms", request.ms === null ? null : String(request.ms)],
    ["parts", steps && stepNames.map((name) => `${name} ${steps[name]}`).join(", ")],
    ["upstreams", request.upstreams],
    ["mode", request.mode],
    ["transport", request.transport],
    ["run", request.run],
    ["end user", request.end_user],
    ["category", request.category],
    ["key", key ? `${key.start}... ${key.name} (${key.state}) ${key.id}` : request.key_id],
    ["wallet", wallet ? `${wallet.name} ${wallet.id}` : request.wallet_id],
    ["account", wallet && describeAccount(wallet)],
  ];
  return facts.flatMap(([name, value]) => (value ? [`${name.padEnd(10)} ${value}`] : [])).join("\n");
}

function formatWallets(wallets: readonly FoundWallet[]): string {
  const rows = wallets.map((wallet) => [
    wallet.id,
    wallet.name,
    describeAccount(wallet),
    wallet.balance,
    wallet.suspended ? "suspended" : "active",
    wallet.keys.map(({ start, name, state }) => `${start}... ${name} (${state})`).join(", "),
  ]);
  return formatTable(rows, ["wallet", "name", "account", "balance", "state", "keys"]);
}

function describeAccount({ account }: FoundWallet): string {
  if (!account) return "";
  if (account.deleted_at !== null) return `${account.id} deleted`;
  return [account.id, ...account.owners].join(" ");
}

function formatSearches(searches: Found["searches"]): string {
  const rows = searches.map((search) => [
    search.at,
    search.request_id,
    search.kind,
    search.outcome,
    search.charged,
    search.ms === null ? "" : String(search.ms),
    search.key_name ?? search.key_id,
  ]);
  return formatTable(rows, ["at", "request", "kind", "outcome", "charged", "ms", "key"]);
}
