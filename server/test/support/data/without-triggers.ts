const triggers = {
  transfers: "transfers_append_only",
  payments: "payments_append_only",
  refunds: "refunds_append_only",
  reversals: "reversals_forward_only",
  wallet_hours: "wallet_hours_append_only",
  ledger_hours: "ledger_hours_filled_once",
  hour_trees: "hour_trees_append_only",
  ledger_days: "ledger_days_append_only",
} as const;

/** Switches the triggers of the append-only tables off for these statements, as someone who owns the tables could. */
export function withoutTriggers(sql: string): string {
  const change = (action: "disable" | "enable"): string =>
    Object.entries(triggers)
      .map(([table, trigger]) => `alter table pb.${table} ${action} trigger ${trigger};`)
      .join("\n");
  return `${change("disable")}\n${sql};\n${change("enable")}`;
}
