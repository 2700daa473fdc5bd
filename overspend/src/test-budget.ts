import { countCharges, readSettledAmount } from "./account.ts";
import { type CallOptions, type Counts, makeCalls } from "./make-calls.ts";
import type { Target } from "./target.ts";

export interface Report extends Counts {
  target: string;
  calls: number;
  budget: number;
  /** Calls that the gateway charged, by its own account. Undefined if it does not report charges. */
  charged: number | undefined;
  /** Answers beyond the budget. */
  overspent: number;
  /** Charged calls whose answer no caller received. */
  lost: number;
  /** Answers that were not charged. */
  unpaid: number;
  /** The budget was spent exactly, and each answer was charged once. */
  isExact: boolean;
}

export interface TestOptions extends CallOptions {
  /** The number of calls that the credential can still pay for. There must be more calls than that. */
  budget: number;
  /** Runs before the last fifth of the calls. A gateway that was killed may reserve money for calls it never finished. */
  rest: () => Promise<void>;
}

export async function testBudget(target: Target, options: TestOptions): Promise<Report> {
  const { account } = target;
  const { budget } = options;
  const before = account && (await readSettledAmount(account));
  const counts: Counts = { admitted: 0, refused: 0, failed: 0, unanswered: 0, attempts: 0, dropped: 0 };
  const last = Math.floor(options.calls / 5);
  await makeCalls(target, { ...options, calls: options.calls - last }, counts);
  await options.rest();
  await makeCalls(target, { ...options, calls: last }, counts);
  const after = account && (await readSettledAmount(account));
  const charged =
    account && before !== undefined && after !== undefined ? countCharges(account, before, after) : undefined;
  return toReport(target.name, budget, options.calls, counts, charged);
}

function toReport(target: string, budget: number, calls: number, counts: Counts, charged: number | undefined): Report {
  const { admitted } = counts;
  const lost = charged === undefined ? 0 : Math.max(0, charged - admitted);
  const unpaid = charged === undefined ? 0 : Math.max(0, admitted - charged);
  const overspent = Math.max(0, admitted - budget, (charged ?? 0) - budget);
  const isExact = overspent === 0 && lost === 0 && unpaid === 0 && admitted === budget;
  return { target, calls, budget, ...counts, charged, overspent, lost, unpaid, isExact };
}

export function formatReport(report: Report): string {
  const rows: [string, number | string, string][] = [
    ["Calls", report.calls, `${report.attempts} attempts, ${report.dropped} of them dropped by the client`],
    ["Admitted", report.admitted, "calls with an answer"],
    ["Charged", report.charged ?? "unknown", "by the gateway's own account"],
    ["Refused", report.refused, "because the budget was spent"],
    ["Failed", report.failed, "with another status"],
    ["Unanswered", report.unanswered, "no attempt had an answer"],
    ["Overspent", report.overspent, "beyond the budget"],
    ["Lost", report.lost, "charged, but the caller has no answer"],
    ["Unpaid", report.unpaid, "answered, but not charged"],
  ];
  const lines = rows.map(([name, count, meaning]) => `${name.padEnd(12)}${String(count).padStart(8)}  ${meaning}`);
  const verdict = report.isExact
    ? "Exact: the budget was spent to the last call, and each answer was charged once."
    : "Not exact.";
  return [`${report.target}, budget ${report.budget} calls`, ...lines, verdict].join("\n");
}
