import type { BudgetTerm, Key } from "../../api/keys.ts";
import { readAmount } from "../../words/amounts.ts";

/** What stands in the form, as typed. */
export interface KeyDraft {
  name: string;
  mode: Key["mode"];
  budget: Record<BudgetTerm, string>;
  /** As the browser's own field writes it, in the viewer's zone; empty: never. */
  expires: string;
  /** One address or range to a line; empty: from anywhere. */
  ips: string;
  perSecond: string;
  inFlight: string;
  mayReadWallet: boolean;
}

export type KeyErrors = Partial<Record<"name" | BudgetTerm | "expires" | "ips" | "perSecond" | "inFlight", string>>;

export const emptyDraft = (mode: Key["mode"]): KeyDraft => ({
  name: "",
  mode,
  budget: { total: "", day: "", month: "" },
  expires: "",
  ips: "",
  perSecond: "",
  inFlight: "",
  mayReadWallet: false,
});

const most = 1_000;

export function toDraft(key: Key): KeyDraft {
  const limit = (term: BudgetTerm): string => key.budget?.[term]?.limit.replace(/\.00$/, "") ?? "";
  return {
    name: key.name,
    mode: key.mode,
    budget: { total: limit("total"), day: limit("day"), month: limit("month") },
    expires: key.expires_at === null ? "" : toLocalField(new Date(key.expires_at)),
    ips: key.allowed_ips?.join("\n") ?? "",
    perSecond: key.searches_per_second === most ? "" : String(key.searches_per_second),
    inFlight: key.searches_in_flight === most ? "" : String(key.searches_in_flight),
    mayReadWallet: key.scopes.includes("wallet:read"),
  };
}

/** What is wrong with it, if anything, beside the field that it is about. */
export function findErrors(draft: KeyDraft, now: Date): KeyErrors {
  const errors: KeyErrors = {};
  const name = draft.name.trim();
  if (name === "") errors.name = "Give it a name that you will know in a year.";
  if (name.length > 100) errors.name = "At most 100 characters.";
  for (const term of ["total", "day", "month"] as const) {
    const text = draft.budget[term].trim();
    if (text !== "" && readAmount(text) === undefined) errors[term] = "An amount such as 5 or 12.50.";
  }
  if (draft.expires !== "" && !(Date.parse(draft.expires) > now.getTime())) errors.expires = "A moment to come.";
  if (splitIps(draft.ips).some((ip) => !/^[\da-f.:]+(?:\/\d{1,3})?$/i.test(ip))) {
    errors.ips = "Addresses or ranges such as 203.0.113.7 or 2001:db8::/32, one to a line.";
  }
  for (const field of ["perSecond", "inFlight"] as const) {
    const text = draft[field].trim();
    if (text !== "" && !(/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most)) {
      errors[field] = "A whole number from 1 to 1000.";
    }
  }
  return errors;
}

/** The body that makes a key. */
export function toNewKey(draft: KeyDraft): Record<string, unknown> {
  const { name, expires_at, ...limits } = toChanges(draft);
  if (draft.mode === "mgmt") return { mode: draft.mode, name, expires_at, allowed_ips: limits["allowed_ips"] };
  return {
    mode: draft.mode,
    name,
    expires_at,
    ...limits,
    ...(draft.mayReadWallet && { scopes: ["search", "wallet:read"] }),
  };
}

/** The body that changes one: all that the form shows. */
export function toChanges(draft: KeyDraft): Record<string, unknown> {
  const ips = splitIps(draft.ips);
  const limits = {
    total: readAmount(draft.budget.total) ?? null,
    day: readAmount(draft.budget.day) ?? null,
    month: readAmount(draft.budget.month) ?? null,
  };
  const hasBudget = Object.values(limits).some((limit) => limit !== null);
  return {
    name: draft.name.trim(),
    allowed_ips: ips.length === 0 ? null : ips,
    expires_at: draft.expires === "" ? null : new Date(draft.expires).toISOString(),
    ...(draft.mode !== "mgmt" && {
      budget: hasBudget ? limits : null,
      searches_per_second: Number(draft.perSecond || most),
      searches_in_flight: Number(draft.inFlight || most),
    }),
  };
}

function splitIps(text: string): string[] {
  return text.split(/[\s,]+/).filter((ip) => ip !== "");
}

function toLocalField(moment: Date): string {
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}
