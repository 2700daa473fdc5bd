import { randomInt } from "node:crypto";

/** New random data in each run. */
export const seed = randomInt(1, 1_000_000);

/** npm scripts with their arguments. Each part is a job of the nightly workflow. */
export const parts: Readonly<Record<string, readonly string[]>> = {
  faults: ["planted-faults"],
  postgres: ["test:postgres", "test:pgbouncer"],
  chaos: [
    ...[0, 1, 2].map((each) => `chaos -- --minutes 2 --seed ${seed + each}`),
    "chaos -- failover --times 2",
    "chaos:cells -- --short",
  ],
  alerts: ["alerts -- quiet", "alerts -- faults"],
  deploy: ["docs:build", "console:build", "image:build", "test -- --long", "follow-install"],
  long: [
    "test:model -- --runs=2000",
    "test -- server/src/ server/test/faults/crashes",
    "fuzz -- --inputs 500000 --cost",
    "fuzz:mcp",
    "abuse",
    "fairness",
    "bench -- --quick",
  ],
};
