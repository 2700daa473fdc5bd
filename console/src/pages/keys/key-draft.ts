import type { Key, KeyEndUserLimit } from "@pennyblack/sdk";
import type { BudgetPeriod } from "../../api/keys.ts";
import { parseAmount } from "../../format/amounts.ts";

/** Form state, as typed. */
export interface KeyDraft {
  name: string;
  mode: Key["mode"];
  budget: Record<BudgetPeriod, string>;
  /** The amount can be empty for no limit. */
  endUserLimit: KeyEndUserLimit;
  /** Ids of shared budgets. */
  budgets: string[];
  /** The amount can be empty for no limit. */
  maxRun: { max: string; required: boolean };
  /** Value of a datetime-local input, in local time. Empty for no expiry. */
  expires: string;
  /** One address or range per line. Empty to allow any. */
  ips: string;
  /** One domain per line. */
  block: string;
  /** One domain per line. Empty to allow every domain. */
  only: string;
  perSecond: string;
  inFlight: string;
  canReadWallet: boolean;
}

export type KeyErrors = Partial<
  Record<
    "name" | BudgetPeriod | "endUserLimit" | "maxRun" | "expires" | "ips" | "block" | "only" | "perSecond" | "inFlight",
    string
  >
>;

export const emptyDraft = (mode: Key["mode"]): KeyDraft => ({
  name: "",
  mode,
  budget: { total: "", day: "", month: "" },
  endUserLimit: { amount: "", period: "day" },
  budgets: [],
  maxRun: { max: "", required: false },
  expires: "",
  ips: "",
  block: "",
  only: "",
  perSecond: "",
  inFlight: "",
  canReadWallet: false,
});

const maxRate = 1_000;

export function toDraft(key: Key): KeyDraft {
  const limit = (period: BudgetPeriod): string => toField(key.budget?.[period]?.limit);
  return {
    name: key.name,
    mode: key.mode,
    budget: { total: limit("total"), day: limit("day"), month: limit("month") },
    endUserLimit: { amount: toField(key.end_user_limit?.amount), period: key.end_user_limit?.period ?? "day" },
    budgets: key.budgets.map(({ id }) => id),
    maxRun: { max: toField(key.max_run?.max), required: key.max_run?.required ?? false },
    expires: key.expires_at === null ? "" : toLocalField(new Date(key.expires_at)),
    ips: key.allowed_ips?.join("\n") ?? "",
    block: key.sources?.block?.join("\n") ?? "",
    only: key.sources?.only?.join("\n") ?? "",
    perSecond: key.searches_per_second === maxRate ? "" : String(key.searches_per_second),
    inFlight: key.searches_in_flight === maxRate ? "" : String(key.searches_in_flight),
    canReadWallet: key.scopes.includes("wallet:read"),
  };
}

/** Validation errors by field. */
export function findErrors(draft: KeyDraft, now: Date): KeyErrors {
  const errors: KeyErrors = {};
  const name = draft.name.trim();
  if (name === "") errors.name = "Enter a name.";
  if (name.length > 100) errors.name = "Use at most 100 characters.";
  if (draft.expires !== "" && !(Date.parse(draft.expires) > now.getTime()))
    errors.expires = "Enter a future date and time.";
  if (splitList(draft.ips).some((ip) => !/^[\da-f.:]+(?:\/\d{1,3})?$/i.test(ip))) {
    errors.ips = "Enter IP addresses or ranges such as 203.0.113.7 or 2001:db8::/32, one per line.";
  }
  // The form does not show the other fields of a management key.
  return draft.mode === "mgmt" ? errors : { ...errors, ...findSearchErrors(draft) };
}

/** Errors of the fields that only keys for searches have. */
function findSearchErrors(draft: KeyDraft): KeyErrors {
  const errors: KeyErrors = {};
  for (const period of ["total", "day", "month"] as const) {
    const text = draft.budget[period].trim();
    if (!isAmount(text)) errors[period] = "Enter an amount such as 5 or 12.50.";
  }
  if (!isAmount(draft.endUserLimit.amount.trim())) errors.endUserLimit = "Enter an amount such as 0.50.";
  const { max, required } = draft.maxRun;
  if (!isAmount(max.trim())) errors.maxRun = "Enter an amount such as 0.50.";
  else if (required && max.trim() === "") errors.maxRun = "Enter the largest budget of a run.";
  for (const field of ["block", "only"] as const) {
    const invalid = splitList(draft[field]).find(
      (domain) => !/^[^\s/:*@]+\.(?!\d+\.?$)[^\s/:*@.]{2,}\.?$/u.test(domain),
    );
    if (invalid !== undefined)
      errors[field] = `Enter domains such as example.com, one per line. ${invalid} is not one.`;
  }
  for (const field of ["perSecond", "inFlight"] as const) {
    const text = draft[field].trim();
    if (text !== "" && !(/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= maxRate)) {
      errors[field] = "Enter a whole number from 1 to 1000.";
    }
  }
  return errors;
}

/** Body of POST /keys. */
export function toNewKey(draft: KeyDraft): Record<string, unknown> {
  const { name, expires_at, ...limits } = toChanges(draft);
  if (draft.mode === "mgmt") return { mode: draft.mode, name, expires_at, allowed_ips: limits["allowed_ips"] };
  return {
    mode: draft.mode,
    name,
    expires_at,
    ...limits,
    ...(draft.canReadWallet && { scopes: ["search", "wallet:read"] }),
  };
}

/** Body of PATCH /keys/{id}, with all editable fields. */
export function toChanges(draft: KeyDraft): Record<string, unknown> {
  const ips = splitList(draft.ips);
  const [block, only] = [splitList(draft.block), splitList(draft.only)];
  const limits = {
    total: parseAmount(draft.budget.total) ?? null,
    day: parseAmount(draft.budget.day) ?? null,
    month: parseAmount(draft.budget.month) ?? null,
  };
  const endUserAmount = parseAmount(draft.endUserLimit.amount);
  const maxRun = parseAmount(draft.maxRun.max);
  const hasBudget = Object.values(limits).some((limit) => limit !== null);
  return {
    name: draft.name.trim(),
    allowed_ips: ips.length === 0 ? null : ips,
    expires_at: draft.expires === "" ? null : new Date(draft.expires).toISOString(),
    ...(draft.mode !== "mgmt" && {
      budget: hasBudget ? limits : null,
      end_user_limit: endUserAmount === undefined ? null : { amount: endUserAmount, period: draft.endUserLimit.period },
      budgets: draft.budgets,
      sources:
        block.length + only.length === 0
          ? null
          : { ...(block.length > 0 && { block }), ...(only.length > 0 && { only }) },
      max_run: maxRun === undefined ? null : { max: maxRun, required: draft.maxRun.required },
      searches_per_second: Number(draft.perSecond || maxRate),
      searches_in_flight: Number(draft.inFlight || maxRate),
    }),
  };
}

function toField(amount: string | undefined): string {
  return amount?.replace(/\.00$/, "") ?? "";
}

/** An empty field sets no limit. */
function isAmount(text: string): boolean {
  return text === "" || parseAmount(text) !== undefined;
}

function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== "");
}

function toLocalField(date: Date): string {
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
