export interface Scenario {
  title: string;
  /** Suffix of the result names in the JSON output. */
  suffix: string;
  isHot: boolean;
  hasIdempotencyKeys: boolean;
  /** Whether nginx and the gateway take part. */
  hasPeers: boolean;
}

export const scenarios = {
  wallets: { title: "many wallets", suffix: "", isHot: false, hasIdempotencyKeys: false, hasPeers: true },
  hot: { title: "one hot wallet", suffix: "_hot", isHot: true, hasIdempotencyKeys: false, hasPeers: true },
  idempotent: {
    title: "many wallets, an Idempotency-Key on every search",
    suffix: "_idempotent",
    isHot: false,
    hasIdempotencyKeys: true,
    hasPeers: false,
  },
  hot_idempotent: {
    title: "one hot wallet, an Idempotency-Key on every search",
    suffix: "_hot_idempotent",
    isHot: true,
    hasIdempotencyKeys: true,
    hasPeers: false,
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;
