import type { Budget, Pennyblack } from "@pennyblack/sdk";
import { type ApplyFile, identify } from "./apply-file.ts";
import type { Plan, Wallet } from "./change.ts";
import { planBudgets } from "./plan-budgets.ts";
import { planKeys } from "./plan-keys.ts";
import { planAlerts, planAutoTopUp } from "./plan-settings.ts";
import { planWebhooks } from "./plan-webhooks.ts";
import type { SecretFiles } from "./secret-files.ts";

// The changes that make a wallet what its file describes. Planning reads and changes nothing.

/** `secrets`: undefined without a folder. Then no lost secret is found. */
export async function makePlan(client: Pennyblack, file: ApplyFile, secrets: SecretFiles | undefined): Promise<Plan> {
  const wallet = await readWallet(client, file);
  const changes = [
    // Keys name budgets.
    ...planBudgets(file, wallet),
    ...planKeys(file, wallet, secrets),
    ...planWebhooks(file, wallet, secrets),
    ...planAlerts(file, wallet),
    ...planAutoTopUp(file, wallet),
  ];
  return { changes, unlisted: findUnlisted(file, wallet), budgetIds: new Map(wallet.budgets.flatMap(toIdEntry)) };
}

function toIdEntry({ id, mode, external_id }: Budget): [string, string][] {
  return external_id === null ? [] : [[identify({ mode, external_id }), id]];
}

/** Reads only what the file describes, so that the key needs no other scopes. */
async function readWallet(client: Pennyblack, file: ApplyFile): Promise<Wallet> {
  const keys = file.keys ? await Array.fromAsync(client.keys.list({ limit: 100 })) : [];
  return {
    budgets: file.budgets || file.keys ? await Array.fromAsync(client.budgets.list({ limit: 100 })) : [],
    // Others can have the external id of a revoked key.
    keys: keys.filter(({ state }) => state !== "revoked"),
    webhooks: file.webhooks ? await Array.fromAsync(client.webhooks.list()) : [],
    alerts: file.alerts && (await client.alerts.get()),
    autoTopUp: file.auto_top_up === undefined ? undefined : await client.autoTopUp.get(),
  };
}

function findUnlisted(file: ApplyFile, { budgets, keys, webhooks }: Wallet): Plan["unlisted"] {
  const compare = (
    section: "budgets" | "keys" | "webhooks",
    found: readonly { mode?: string; external_id: string | null }[],
  ): Plan["unlisted"] => {
    const listed = file[section];
    if (!listed) return [];
    const known = new Set(listed.map(identify));
    return found.flatMap(({ mode, external_id: id }) =>
      id === null || known.has(identify({ ...(mode !== undefined && { mode }), external_id: id }))
        ? []
        : [{ section, id, ...(mode !== undefined && { mode }) }],
    );
  };
  const active = keys.filter(({ state }) => state === "active");
  return [...compare("budgets", budgets), ...compare("keys", active), ...compare("webhooks", webhooks)];
}
