import { type CallToolResult, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import { findAmountFaults } from "../http/input/budget-amount.ts";
import { fieldFault, invalidInput } from "../http/input/faults.ts";
import { describeFaults } from "../http/input/read-json.ts";
import { NoResponse } from "../http/no-response.ts";
import type { Principal } from "../keys/keys.ts";
import { findRunRule } from "../lib/max-run.ts";
import { formatUsd, type Micros, parseUsd, priceMicros } from "../lib/money.ts";
import { Problem } from "../problems/problems.ts";
import type { SearchAnswer } from "../search/search.ts";
import type { BudgetState } from "../wallet/wallet.ts";
import {
  type Budget,
  formatMoney,
  formatProblem,
  formatResults,
  notice,
  type ToolResult,
  toBudget,
} from "./tool-output.ts";
import { noArguments, requestSchema, runSchema } from "./tools.ts";

/** One call of a tool, and its dependencies on the other modules. */
export interface ToolCall {
  caller: Principal;
  requestId: string;
  runSearch: RunSearch;
  readBalance: ReadBalance;
  requestBudget: RequestBudget;
  /** Called for errors that are not the caller's. */
  onInternalError: (error: unknown) => void;
}

/** Runs the paid search. `onHold` is called with the state of the budgets, as soon as the ledger has decided. */
export type RunSearch = (search: {
  /** Throws if the arguments are invalid. */
  readBody: () => Buffer;
  run: string | undefined;
  onHold: (budgets: readonly BudgetState[]) => void;
}) => Promise<SearchAnswer>;

/** The wallet's balance and the budgets of the key. */
export type ReadBalance = (caller: Principal) => Promise<{ balance: Micros; budgets: readonly BudgetState[] }>;

/** Asks a person to raise a shared budget. */
export type RequestBudget = (
  caller: Principal,
  request: { budgetId: string; amount: Micros; hours: number },
) => Promise<unknown>;

type Arguments = Record<string, unknown>;

/** Every failure of a tool is a result with `isError`, so that the model sees it. Only an unknown tool is an error. */
export function callTool(name: string, input: Arguments, call: ToolCall): Promise<CallToolResult> {
  if (name === "web_search") return searchWeb(input, call);
  if (name === "get_balance") return getBalance(input, call);
  if (name === "request_budget" && call.caller.scopes.includes("budgets:request")) return requestBudget(input, call);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown tool. The tools are web_search and get_balance.");
}

/** For the first shared budget that does not cover another search. */
async function requestBudget(input: Arguments, call: ToolCall): Promise<CallToolResult> {
  try {
    if (!acceptsRequest.Check(input)) throw invalidInput(describeFaults(requestSchema, input));
    const faults = findAmountFaults("amount", input.amount);
    if (faults.length > 0) throw invalidInput(faults);
    const { budgets } = await call.readBalance(call.caller);
    const spent = budgets.find(({ budgetId, max, spent: micros }) => budgetId && max - micros < priceMicros);
    if (!spent?.budgetId) return toError("No shared budget of this key is spent. Nothing was requested.");
    const amount = parseUsd(input.amount) ?? 0n;
    await call.requestBudget(call.caller, { budgetId: spent.budgetId, amount, hours: input.hours });
    const text = "Asked. A person decides later. Finish with what you have, or wait and then search again.";
    return { content: [{ type: "text", text }] };
  } catch (error) {
    return failure(error, call, (problem) => `Could not ask. ${problem.detailWithoutCharge}`);
  }
}

function toError(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

async function searchWeb({ run, ...body }: Arguments, call: ToolCall): Promise<CallToolResult> {
  const { caller, requestId } = call;
  let budgets: readonly BudgetState[] = [];
  try {
    const fault = findRunFault(run, caller);
    const { id, max, ttl = 3_600 } = (fault ? {} : (run ?? {})) as { id?: string; max?: string; ttl?: number };
    const answer = await call.runSearch({
      readBody() {
        if (fault) throw fault;
        return Buffer.from(JSON.stringify(body));
      },
      run: id === undefined ? undefined : `${id}; max=${max}; ttl=${ttl}`,
      onHold: (atHold) => void (budgets = atHold),
    });
    // A test search spends play money from its budgets, and is not charged.
    const spent = answer.isReplayed ? 0n : priceMicros;
    return toSearchResult(
      answer,
      id,
      budgets.map((budget) => toBudget(budget, spent)),
    );
  } catch (error) {
    return failure(error, call, (problem) =>
      formatProblem(
        problem,
        requestId,
        budgets.map((budget) => toBudget(budget, 0n)),
        caller.scopes.includes("budgets:request"),
      ),
    );
  }

  function toSearchResult(answer: SearchAnswer, runId: string | undefined, left: readonly Budget[]): CallToolResult {
    const { query, results } = JSON.parse(answer.body.toString()) as { query: string; results: ToolResult[] };
    const charge = formatUsd(answer.charge);
    const balance = caller.scopes.includes("wallet:read") ? formatUsd(answer.balance) : null;
    const ofRun = left.find(({ limit }) => limit === "run");
    const { isReplayed, filtered = 0 } = answer;
    return {
      content: [
        { type: "text", text: formatResults({ results, filtered, charge, isReplayed, balance, budgets: left }) },
      ],
      structuredContent: {
        notice,
        query,
        results,
        charge,
        replayed: isReplayed,
        balance,
        run:
          ofRun && runId !== undefined
            ? { id: runId, max: ofRun.max, spent: ofRun.spent, left: ofRun.left, ends_at: ofRun.resetsAt }
            : null,
        key_budgets: serializeKeyBudgets(left),
      },
    };
  }
}

async function getBalance(input: Arguments, call: ToolCall): Promise<CallToolResult> {
  try {
    if (!acceptsNoArguments.Check(input)) throw invalidInput(describeFaults(noArguments, input));
    const found = await call.readBalance(call.caller);
    const budgets = found.budgets.map((budget) => toBudget(budget, 0n));
    const balance = call.caller.scopes.includes("wallet:read") ? formatUsd(found.balance) : null;
    const price = formatUsd(priceMicros);
    const hidden =
      balance === null ? ["This key cannot read the wallet balance, which is normal for a search key."] : [];
    const text = [...formatMoney(balance, budgets), ...hidden, `A search costs ${price} USD.`].join(" ");
    const structuredContent = { balance, price, key_budgets: serializeKeyBudgets(budgets) };
    return { content: [{ type: "text", text }], structuredContent };
  } catch (error) {
    return failure(error, call, (problem) => `Could not read the balance. ${problem.detailWithoutCharge}`);
  }
}

function serializeKeyBudgets(budgets: readonly Budget[]) {
  return budgets
    .filter(({ limit }) => limit !== "run" && limit !== "end_user")
    .map(({ limit, max, spent, left, resetsAt }) => ({ period: limit, max, spent, left, resets_at: resetsAt }));
}

function failure(error: unknown, call: ToolCall, describe: (problem: Problem) => string): CallToolResult {
  const isError = true;
  if (error instanceof NoResponse) return { content: [{ type: "text", text: describeNoResponse(error) }], isError };
  if (!(error instanceof Problem)) call.onInternalError(error);
  const problem = error instanceof Problem ? error : new Problem("internal_error", { cause: error });
  return { content: [{ type: "text", text: describe(problem) }], isError };
}

/** Either the call was cancelled, or the ledger did not confirm the charge in time. */
function describeNoResponse({ cause }: NoResponse): string {
  if (cause === undefined) return "The call was cancelled. You were not charged.";
  return "The search FAILED: the ledger did not respond. This call may have been charged (at most 0.01 USD). This does not mean there are no results. Next step: call get_balance, then search again if you still need the results.";
}

const acceptsNoArguments = Compile(noArguments);
const acceptsRequest = Compile(requestSchema);
const namedRun = Type.Object({ run: runSchema });
const acceptsRun = Compile(namedRun);

function findRunFault(run: unknown, { maxRun }: Principal): Problem | undefined {
  const named = { run };
  if (run === undefined) return toProblem(findRunRule(maxRun, undefined));
  if (!acceptsRun.Check(named)) return invalidInput(describeFaults(namedRun, named, { name: "id", budget: "max" }));
  const max = parseUsd(named.run.max) ?? 0n;
  if (max >= priceMicros) return toProblem(findRunRule(maxRun, max));
  const detail = `must be at least ${formatUsd(priceMicros)} USD, the price of a search`;
  return invalidInput([fieldFault("run/max", detail, "out_of_range")]);
}

function toProblem(runRule: string | undefined): Problem | undefined {
  return runRule === undefined ? undefined : invalidInput([fieldFault("run", runRule)]);
}
