import type { Principal } from "../keys/keys.ts";
import type { UpstreamAnswer } from "../providers/provider.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { SentCall, Tally } from "../usage/usage.ts";
import type { CallRecorder } from "./routing.ts";
import type { UnpaidLimit } from "./unpaid-limit.ts";

// Books the cost of a search's upstream calls when they are sent, and records at its end whether the caller paid for them.
// The calls of an unpaid search count against the wallet's limit only if the caller ended it.

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

type Ending = "answered" | "caller" | "upstream";

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
        // Two upstreams can be queried at once.
        const call = calls.find(({ sent, ending }) => sent.provider === answer.provider && ending === undefined);
        if (call) call.ending = endingOf(answer, waitSeconds !== undefined && !isOpen);
      },
      end(isPaid) {
        const isCallers = !isPaid && calls.some(({ ending }) => ending === "caller");
        const abandoned = isCallers ? calls.filter(({ ending }) => ending !== "upstream") : [];
        endLimited({ isPaid, unpaidCalls: abandoned.length });
        for (const call of calls) {
          const { sent } = call;
          if (isPaid) tally.recordPaid(sent);
          else metrics.countUnpaidCall(sent.provider, abandoned.includes(call) ? "caller" : "other");
        }
        for (const { sent } of abandoned) tally.recordAbandoned(sent);
      },
    };
  };
}

/** A timeout is the caller's doing if the caller's deadline passed and the upstream is not known to be failing. */
function endingOf(answer: UpstreamAnswer, isTimeoutCallers: boolean): Ending {
  if (answer.ok) return "answered";
  const isCallers = answer.reason === "aborted" || (answer.isDeadline === true && isTimeoutCallers);
  return isCallers ? "caller" : "upstream";
}
