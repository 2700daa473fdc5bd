import { suggest } from "../lib/suggest.ts";

const unchanged = "no operator needed another value";
const vendor = "requests to a vendor go to its own URL";

/** Removed settings without their prefix, and the reason. */
const removed: Record<string, string> = {
  WALLET_RATE: unchanged,
  WALLET_IN_FLIGHT: unchanged,
  WALLET_TEST_RATE: unchanged,
  WALLET_TEST_IN_FLIGHT: unchanged,
  WALLET_SHARE: unchanged,
  MAX_IN_FLIGHT: unchanged,
  DRAIN_MS: unchanged,
  RETENTION_TEST_DAYS: unchanged,
  TRIALS_PER_DAY: unchanged,
  OIDC_NAME: unchanged,
  HEAP_SNAPSHOTS: "Node takes heap snapshots with --heapsnapshot-signal",
  REGISTRIES: "PENNYBLACK_LENSES can be a folder with fewer registries",
  FUSION: "each search has the results of one upstream",
  STRIPE_URL: vendor,
  BRAVE_URL: vendor,
  EXA_URL: vendor,
  PERPLEXITY_URL: vendor,
  SERPER_URL: vendor,
  TAVILY_URL: vendor,
  YOU_URL: vendor,
};

const prefix = "PENNYBLACK_";

/** A misspelled or removed setting would otherwise be silently ignored. */
export function findUnknownSettings(environment: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !name.startsWith(`${prefix}TEST_`) && !known.includes(name))
    .map((name) => {
      const reason = removed[name.slice(prefix.length)];
      if (reason !== undefined) return `${name} was removed: ${reason}`;
      // Compared without the prefix, which is not misspelled here and would make all names similar.
      const meant = suggest(name.slice(prefix.length), known.map(withoutPrefix));
      const hint = known.find((each) => withoutPrefix(each) === meant);
      return `${name} is not a known setting${hint === undefined ? "" : ` (did you mean ${hint}?)`}`;
    });
}

function withoutPrefix(name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
