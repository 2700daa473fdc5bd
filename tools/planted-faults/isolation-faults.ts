import type { PlantedFault } from "./planted-fault.ts";

const fairShares = "stories/fair-shares.test";
const searchCalls = "server/src/search/search-calls.ts";
const unpaidLimit = "server/src/search/unpaid-limit.ts";
const unpaidCalls = "fairness/unpaid-calls.test";

export const adminFaults: PlantedFault[] = [
  {
    description: "an admin command runs with all privileges of the owner",
    file: "server/src/admin/audit-command.ts",
    find: 'role: "operator",',
    replace: 'role: "owner",',
    tests: ["processes/admin-roles.test"],
    caughtBy: "every admin command declares the narrowest role that can do it",
  },
];

export const fairnessFaults: PlantedFault[] = [
  {
    description: "one wallet can occupy all slots of a server",
    file: "server/src/http/admission.ts",
    find: "if (owned >= maxOwned) {",
    replace: "if (owned > max) {",
    tests: ["src/http/admission.test", fairShares],
    caughtBy: "half-sent bodies of a known caller use up the share of its wallet, and nothing of another's",
  },
  {
    description: "test searches occupy the slots of paid searches",
    file: "server/src/search/limit-searches.ts",
    find: 'admission.enter(caller.mode === "test" ? "tests" : "callers", caller.walletId)',
    replace: 'admission.enter("callers", caller.walletId)',
    tests: ["src/search/limit-searches.test"],
    caughtBy: "a test search counts against the slots and the limits of test searches",
  },
  {
    description: "a search over its wallet's limit keeps its slot",
    file: "server/src/search/limit-searches.ts",
    find: "      release();\n      throw error;",
    replace: "      throw error;",
    tests: ["src/search/limit-searches.test"],
    caughtBy: "a search that exceeds a limit frees everything it occupied",
  },
  {
    description: "the keys of a wallet are limited one by one only",
    file: "server/src/search/limit-searches.ts",
    find: "const wallet = await acquireSlot(walletLimit(caller));",
    replace: "const wallet = await acquireSlot({ ...walletLimit(caller), keyId: caller.keyId });",
    tests: [fairShares, "src/search/limit-searches.test"],
    caughtBy: "a search counts against the server's slots first, then against its key, then against its wallet",
  },
  {
    description: "management requests do not count against the share of their wallet",
    file: "server/src/http/request-limits.ts",
    find: 'occupySlot(reply.request, admission.enter("callers", walletId));',
    replace: "occupySlot(reply.request, () => undefined);",
    tests: [fairShares],
    caughtBy: "half-sent bodies of a known caller use up the share of its wallet, and nothing of another's",
  },
  {
    description: "the body of a payment webhook is read before its signature header is checked",
    file: "server/src/payments/webhook-route.ts",
    find: "if (!processor.isPlausibleSignature(signature))",
    replace: "if (signature === 'none')",
    tests: [fairShares],
    caughtBy: "a payment webhook without a well-formed, fresh signature is rejected before its body is read",
  },
  {
    description: "an old signature of a payment webhook is plausible",
    file: "server/src/payments/stripe-signature.ts",
    find: "return Math.abs(nowMs / 1_000 - Number(timestamp)) <= toleranceSeconds;",
    replace: "return Number(timestamp) <= nowMs / 1_000 + toleranceSeconds;",
    tests: ["src/payments/stripe-signature.test"],
    caughtBy: "a signature header is plausible only if it is well-formed and at most five minutes old",
  },
  {
    description: "look-ups of unknown keys are not bounded",
    file: "server/src/keys/keys.ts",
    find: "const leave = enterLookUp(from);",
    replace: "const leave = (): void => undefined;",
    tests: [fairShares],
    caughtBy: "look-ups of unknown keys wait in slots of their own, and a key that worked before needs none",
  },
  {
    description: "requests without a key are not bounded",
    file: "server/src/http/http-server.ts",
    find: "if (isPublic(route)) occupySlot(",
    replace: "if (isPublic(route) && request.id === '') occupySlot(",
    tests: ["src/http/http-server.test"],
    caughtBy:
      "unknown callers have a pool of their own, which a request leaves when its caller is known or it has ended",
  },
  {
    description: "test searches are deleted before their usage is counted",
    file: "server/sql/upkeep.sql",
    find: "clock_timestamp() - greatest(p_days, 3) * interval '1 day', pb.usage_as_of() - interval '3 days'",
    replace: "clock_timestamp() - greatest(p_days, 3) * interval '1 day', 'infinity'",
    tests: ["src/wallet/upkeep/prune.test"],
    caughtBy: "test searches are deleted after three days, in batches, and no other search is",
  },
];

export const unpaidFaults: PlantedFault[] = [
  {
    description: "the cost of an upstream call is not booked",
    file: "server/src/search/routing.ts",
    find: "calls.recordSent(provider.name, cost);",
    replace: "",
    tests: [unpaidCalls],
    caughtBy: "failures of the upstream cost money and never limit the wallet",
  },
  {
    description: "the costs of the last seconds are lost at shutdown",
    file: "server/src/app.ts",
    find: "await tally.close();",
    replace: "",
    tests: [unpaidCalls],
    caughtBy: "an ordinary shutdown writes the costs of abandoned searches",
  },
  {
    description: "abandoned searches do not count as unpaid calls",
    file: searchCalls,
    find: 'answer.reason === "aborted" ||',
    replace: "",
    tests: [unpaidCalls],
    caughtBy:
      "a one-cent wallet that drops every connection gets 20 unpaid upstream calls, and the operator sees their cost",
  },
  {
    description: "searches that time out by their own deadline do not count as unpaid calls",
    file: searchCalls,
    find: "waitSeconds !== undefined && !isOpen",
    replace: "waitSeconds === undefined && !isOpen",
    tests: [unpaidCalls],
    caughtBy: "a wallet that sends Prefer: wait=1 is limited in the same way",
  },
  {
    description: "failures of the upstream limit the wallet",
    file: searchCalls,
    find: '? "caller" : "upstream";',
    replace: '? "caller" : "caller";',
    tests: ["src/search/search-calls.test"],
    caughtBy: "failures of the upstream never count",
  },
  {
    description: "paid searches do not raise the allowance of unpaid calls",
    file: unpaidLimit,
    find: "earned.add(walletId);",
    replace: "return;",
    tests: ["src/search/unpaid-limit.test"],
    caughtBy: "paid searches earn unpaid calls, at most 1,000 and for at most an hour or so",
  },
  {
    description: "searches at once do not reserve their unpaid calls",
    file: unpaidLimit,
    find: "local.change(walletId, callsAtOnce, share);",
    replace: "local.change(walletId, 0, share);",
    tests: ["src/search/unpaid-limit.test"],
    caughtBy: "searches at once cannot exceed the allowance of a wallet with unpaid calls",
  },
  {
    description: "the allowance of unpaid calls never refills in Redis",
    file: unpaidLimit,
    find: "level - math.max(0, ms - saved[2]) / ARGV[3]",
    replace: "level",
    tests: [unpaidCalls],
    caughtBy: "two servers count in one place, and time refills the allowance",
  },
  {
    description: "wallets that pay for their searches are listed as open problems",
    file: "server/src/usage/read-margin.ts",
    find: " and sum(calls) > sum(paid_calls)",
    replace: "",
    tests: ["src/usage/tally.test"],
    caughtBy: "lists the wallets that abandoned more calls than they paid for in the last hour",
  },
];
