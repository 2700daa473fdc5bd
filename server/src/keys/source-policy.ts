import { type Static, Type } from "typebox";
import { type Fault, fieldFault } from "../http/input/faults.ts";
import {
  describeOnlyLimit,
  type MaxOnlyDomains,
  maxDomainLength,
  maxPolicyDomains,
  normalizeDomain,
  possibleDomains,
  type SourcePolicy,
} from "../lib/source-policy.ts";

// The source policy of a key: access control, so every search of the key applies it, and no request can widen it.

const domains = (description: string) =>
  Type.Array(Type.String({ maxLength: maxDomainLength }), { minItems: 1, maxItems: maxPolicyDomains, description });

export const sourcesSchema = Type.Object(
  {
    block: Type.Optional(domains("Results from these domains and their subdomains are removed.")),
    only: Type.Optional(domains("Results from all other domains are removed. `block` takes precedence.")),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    title: "KeySources",
    description: `The domains that searches with the key may return, such as \`example.com\` or \`docs.example.com\`. A domain includes its subdomains. At most ${maxPolicyDomains} in both lists together, stored in lower case and ASCII. A change replaces both lists.`,
  },
);

export type SourcesBody = Static<typeof sourcesSchema>;

/** Faults that the schema does not find. */
export function findSourcesFaults(sources: SourcesBody, maxOnly: MaxOnlyDomains): Fault[] {
  const { block = [], only = [] } = sources;
  const faults = Object.entries({ block, only }).flatMap(([name, list]) =>
    list.flatMap((text, index) =>
      normalizeDomain(text) === undefined
        ? [
            fieldFault(
              `sources/${name}/${index}`,
              "must be a domain or host such as `example.com`, without scheme, path or wildcard",
            ),
          ]
        : [],
    ),
  );
  const count = block.length + only.length;
  if (count > maxPolicyDomains)
    faults.push(
      fieldFault("sources", `must have at most ${maxPolicyDomains} domains, but has ${count}`, "out_of_range"),
    );
  if (faults.length === 0 && isEmpty(normalizeSources(sources)))
    faults.push(fieldFault("sources/only", "must have a domain that is not in `block`"));
  const fault = describeOnlyLimit(only.length, maxOnly);
  if (fault !== undefined) faults.push(fieldFault("sources/only", fault, "unsupported"));
  return faults;
}

/** Whether a search could return no result at all. */
function isEmpty(sources: SourcesBody): boolean {
  return possibleDomains(toSourcePolicy(sources))?.length === 0;
}

/** The form in which a policy is stored: each domain once. The texts have no faults. */
export function normalizeSources({ block, only }: SourcesBody): SourcesBody {
  const normalize = (list: readonly string[]): string[] => [
    ...new Set(list.flatMap((text) => normalizeDomain(text) ?? [])),
  ];
  return { ...(block && { block: normalize(block) }), ...(only && { only: normalize(only) }) };
}

export function toSourcePolicy({ block = [], only }: SourcesBody): SourcePolicy {
  return { block, ...(only && { only }) };
}
