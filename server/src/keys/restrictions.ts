import { fieldFault, invalidInput, listWords } from "../http/input/faults.ts";
import { Problem } from "../problems/problems.ts";

// A key with `allowed_ips` or `expires_at` cannot create a management key that works elsewhere or for longer. pb.find_wider_field
// checks it.

/** The restrictions of the key that makes the request. */
interface Restrictions {
  allowedIps: string[] | null;
  expiresAt: Date | null;
}

export function describeExcess(
  outcome: "allowed_ips_too_wide" | "expires_at_too_wide" | "has_fewer_restrictions",
  own: Restrictions,
): Problem {
  const networks = listWords(own.allowedIps ?? []);
  const expiry = `\`${own.expiresAt?.toISOString()}\``;
  if (outcome === "allowed_ips_too_wide") return tooWide("allowed_ips", `must be within ${networks}`);
  if (outcome === "expires_at_too_wide") return tooWide("expires_at", `must be ${expiry} or earlier`);
  const restrictions = [
    ...(own.allowedIps ? [`works only from ${networks}`] : []),
    ...(own.expiresAt ? [`expires at ${expiry}`] : []),
  ].join(" and ");
  const advice =
    "Rotate it with another management key or in the console, or first set its `allowed_ips` and `expires_at`";
  return new Problem("invalid_request", {
    detail: `Your own key ${restrictions}, and the key to rotate has fewer restrictions. No changes were made. ${advice}.`,
    members: {
      errors: [
        { pointer: "#", code: "restricted_key", detail: "the key to rotate has fewer restrictions than your own" },
      ],
    },
  });
}

function tooWide(field: "allowed_ips" | "expires_at", rule: string): Problem {
  return invalidInput([
    fieldFault(field, `${rule}, as for your own key. Omit \`${field}\`, send a narrower value, or use another key`),
  ]);
}
