import { parseArgs } from "node:util";
import type { CallerResult } from "../attack/abuse/paying-caller.ts";
import { attacksOf } from "./attacks.ts";
import {
  type Attack,
  type Attacked,
  type FairnessFixture,
  longSize,
  openFairnessFixture,
  shortSize,
} from "./fairness-fixture.ts";
import { measureHotWallet } from "./hot-wallet.ts";
import { faultsOf, formatFlood, measureRefusals } from "./refusals.ts";

// One tenant's requests before, during and after attacks of another:  npm run fairness -- --long --only "test key"
// A flood of refused searches, by default for five minutes:           npm run fairness -- --long --only refusals --seconds 60

const { values } = parseArgs({
  options: { long: { type: "boolean" }, only: { type: "string", default: "" }, seconds: { type: "string" } },
});
const rounds = 3;
/** The memory limit of the Helm chart. */
const maxRssMib = 512;
/** Below this, the scheduling of a busy machine decides the p99, not the server. */
const noiseMs = 150;
const hotWallet = "hot wallet of eight servers";
const refusals = "refusals of many keys and wallets";
/** Without separate lanes for hot wallets, it is three to eight times. */
const maxHotWalletRatio = 2;

const size = values.long ? longSize : shortSize;
const fixture = await openFairnessFixture(size);
try {
  let harmed = 0;
  console.log(
    `Medians of ${rounds} rounds. Before and after attacks with ordinary searches, many wallets send as many.`,
  );
  for (const [name, attack] of Object.entries(attacksOf(size)).filter(([name]) => name.includes(values.only)))
    if (await isHarmedBy(fixture, name, attack)) harmed += 1;
  if (hotWallet.includes(values.only)) {
    const ratio = await measureHotWallet();
    if (ratio > maxHotWalletRatio) harmed += 1;
    const verdict = ratio > maxHotWalletRatio ? "HARMED" : "ok    ";
    console.log(`${verdict}  ${hotWallet.padEnd(48)}  other wallets ${ratio.toFixed(2)} times slower`);
  }
  if (refusals.includes(values.only)) {
    const forMs = values.seconds === undefined ? size.flood.forMs : Number(values.seconds) * 1_000;
    const result = await measureRefusals(fixture.target, { ...size.flood, forMs });
    const faults = [...faultsOf(result), ...result.during.failures.slice(0, 1)];
    if (faults.length > 0) harmed += 1;
    console.log(
      `${faults.length > 0 ? "HARMED" : "ok    "}  ${refusals}  ${faults.join("; ")}\n${formatFlood(result)}`,
    );
  }
  console.log(`${harmed} attacks harmed the other tenant.`);
  process.exitCode = harmed === 0 ? 0 : 1;
} finally {
  await fixture.close();
}

async function isHarmedBy(fixture: FairnessFixture, name: string, attack: Attack): Promise<boolean> {
  const measured: { before: CallerResult; during: Attacked; after: CallerResult }[] = [];
  const trial = await fixture.openTrial(attack);
  try {
    for (let round = 0; round < rounds; round += 1)
      measured.push({
        before: await trial.measureWithout(),
        during: await trial.measureDuring(),
        after: await trial.measureWithout(),
      });
  } finally {
    await trial.close();
  }
  const p99Of = (phase: "before" | "during" | "after"): number => median(measured.map((round) => round[phase].p99Ms));
  const failures = measured.flatMap(({ during }) => during.failures);
  const searches = measured.reduce((sum, { during }) => sum + during.searches, 0);
  const rssMib = Math.max(...measured.map(({ during }) => during.rssMib));
  const isSlow = p99Of("during") > Math.max(noiseMs, 3 * Math.max(p99Of("before"), p99Of("after")));
  const isHarmed = failures.length > 0 || isSlow || rssMib > maxRssMib;
  console.log(
    [
      isHarmed ? "HARMED" : "ok    ",
      name.padEnd(48),
      `${searches - failures.length} of ${searches} succeeded`,
      `p99 ${p99Of("before")}, ${p99Of("during")}, ${p99Of("after")} ms`,
      `${rssMib} MiB`,
      JSON.stringify(measured.at(-1)?.during.attackerStatuses),
      failures[0] ?? "",
    ].join("  "),
  );
  return isHarmed;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
