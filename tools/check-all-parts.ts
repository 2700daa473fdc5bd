import { randomInt } from "node:crypto";

/** New random data in each run. The seed is part of the step that is printed. */
const seed = randomInt(1, 1_000_000);

/** npm scripts with their arguments. Each part is a job of the nightly workflow. */
export const parts: Readonly<Record<string, readonly string[]>> = {
  faults: ["planted-faults"],
  postgres: ["test:postgres", "test:pgbouncer"],
  chaos: [
    ...[0, 1, 2].map((each) => `chaos -- --minutes 2 --seed ${seed + each}`),
    "chaos -- failover --times 2",
    "chaos:cells -- --short",
  ],
  deploy: ["docs:build", "console:build", "image:build", "test -- --long"],
  long: [
    "test:model -- --runs=2000",
    `test -- --seed ${seed} server/src/ server/test/faults/crashes server/test/ledger-model`,
    "fuzz -- --inputs 500000",
    "fuzz:mcp",
    "abuse",
    "fairness",
    "bench -- --quick",
  ],
};
