import type { Principal } from "../keys/keys.ts";
import {
  describeOnlyLimit,
  type MaxOnlyDomains,
  narrowPolicy,
  possibleDomains,
  type SourcePolicy,
} from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";

/**
 * The policy of a search: what its key and its request both allow. A search that cannot have a result is rejected, because it
 * would be paid for.
 */
export function narrowSources(
  { sources: own, mode }: Pick<Principal, "sources" | "mode">,
  requested: SourcePolicy | undefined,
  maxOnly: MaxOnlyDomains,
): SourcePolicy | undefined {
  const narrowed = narrowPolicy(own, requested);
  const only = narrowed && possibleDomains(narrowed);
  if (!narrowed || !only) return narrowed;
  if (only.length === 0) {
    const detail = "the request and `sources` of the key have no allowed domain in common";
    throw invalidSources("not_allowed", detail, "Request other domains, or use another key");
  }
  // The results of test keys are made up.
  const fault = mode === "test" ? undefined : describeOnlyLimit(only.length, maxOnly);
  if (fault !== undefined)
    throw invalidSources(
      "unsupported",
      `the list of domains to which this search is restricted, by its request or by \`sources.only\` of its key, ${fault}`,
      "Remove the restriction, or exclude domains instead",
    );
  return { ...narrowed, only };
}

function invalidSources(code: string, fault: string, advice: string): Problem {
  const sentence = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}`;
  return new Problem("invalid_request", {
    detail: `${sentence}. You were not charged. ${advice}.`,
    members: { errors: [{ pointer: "#", code, detail: fault }] },
  });
}
