import type { Principal } from "../keys/keys.ts";
import type { UnpaidLimit } from "../limits/unpaid-limit.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { SentCall, Tally } from "../usage/usage.ts";
import type { CallRecorder } from "./routing.ts";

// Books the cost of a search's upstream calls when they are sent, and records at its end whether the caller paid for them.
// A call of an unpaid search counts against the wallet's limit if the caller ended the search, or if the upstream answered it
// with a 2xx that we rejected: the upstream charges for it, and the query may have caused it.

export type StartCalls = (
  caller: Pick<Principal, "walletId" | "mode">,
  /** The seconds in `Prefer: wait`. */
  waitSeconds: number | undefined,
) => Promise<SearchCalls>;

export interface SearchCalls extends CallRecorder {
  /** Call it once, when the search has ended. */
  end(isPaid: boolean): void;
}

export interface SearchCallsDependencies {
  unpaidLimit: UnpaidLimit;
  tally: Pick<Tally, "recordSent" | "recordPaid" | "recordAbandoned">;
  metrics: Pick<Metrics, "countUpstreamCost" | "countUnpaidCall">;
}

type Ending = "answered" | "caller" | "rejected" | "upstream";

export function createStartCalls({ unpaidLimit, tally, metrics }: SearchCallsDependencies): StartCalls {
  return async function startCalls({ walletId, mode }, waitSeconds) {
    // The test upstream costs nothing.
    if (mode !== "live") return { recordSent: () => undefined, recordAnswer: () => undefined, end: () => undefined };
    const endLimited = await unpaidLimit.enter(walletId);
    const calls: { sent: SentCall; ending?: Ending }[] = [];
    return {
      recordSent(provider, cost) {
        calls.push({ sent: tally.recordSent({ walletId, provider, cost }) });
        metrics.countUpstreamCost(provider, cost);
      },
      recordAnswer(answer, isOpen) {
        // Undefined if the call was not sent.
        const call = calls.find(({ ending }) => ending === undefined);
        if (call) call.ending = endingOf(answer, waitSeconds !== undefined && !isOpen);
      },
      end(isPaid) {
        const isAbandoned = calls.some(({ ending }) => ending === "caller");
        const unpaid = isPaid ? [] : calls.map(({ sent, ending }) => ({ sent, cause: causeOf(ending, isAbandoned) }));
        endLimited({ isPaid, unpaidCalls: unpaid.filter(({ cause }) => cause !== "other").length });
        for (const { sent, cause } of unpaid) {
          metrics.countUnpaidCall(sent.provider, cause);
          if (cause === "caller") tally.recordAbandoned(sent);
        }
        if (isPaid) for (const { sent } of calls) tally.recordPaid(sent);
      },
    };
  };
}

/** A timeout is attributed to the caller if the caller's deadline passed and the upstream is not known to be failing. */
function endingOf(answer: UpstreamAnswer, isTimeoutCallers: boolean): Ending {
  if (answer.ok) return "answered";
  const isCallers = answer.reason === "aborted" || (answer.isDeadline === true && isTimeoutCallers);
  if (isCallers) return "caller";
  return answer.reason === "invalid_response" && isSuccess(answer.upstreamStatus) ? "rejected" : "upstream";
}

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}

function causeOf(ending: Ending | undefined, isAbandoned: boolean): "caller" | "rejected" | "other" {
  if (ending === "rejected") return "rejected";
  return isAbandoned && ending !== "upstream" ? "caller" : "other";
}
