import { parseArgs } from "node:util";
import { attacksOf } from "./attacks.ts";
import { allowedP99Ms, longSize, openFairnessFixture, shortSize } from "./fairness-fixture.ts";
import { measureHotWallet } from "./hot-wallet.ts";

// One tenant's searches while another attacks:  npm run fairness -- --long --only webhooks

const { values } = parseArgs({ options: { long: { type: "boolean" }, only: { type: "string", default: "" } } });
/** The memory limit of the Helm chart. */
const maxRssMib = 512;
const hotWallet = "hot wallet of eight servers";
/** Without lanes of their own for hot wallets it is three to eight times. */
const maxHotWalletRatio = 2;

const size = values.long ? longSize : shortSize;
const fixture = await openFairnessFixture(size);
try {
  let failed = 0;
  for (const [name, attack] of Object.entries(attacksOf(size)).filter(([name]) => name.includes(values.only))) {
    const fairness = await fixture.measure(attack);
    const { baseline, attacked, attackerStatuses, rssMib } = fairness;
    const isHarmed = attacked.failures.length > 0 || attacked.p99Ms > allowedP99Ms(fairness) || rssMib > maxRssMib;
    if (isHarmed) failed += 1;
    console.log(
      [
        isHarmed ? "HARMED " : "ok     ",
        name.padEnd(36),
        `${attacked.failures.length} of ${attacked.searches} failed`,
        `p50 ${attacked.p50Ms} ms (${baseline.p50Ms})`,
        `p99 ${attacked.p99Ms} ms (${baseline.p99Ms})`,
        `${rssMib} MiB`,
        JSON.stringify(attackerStatuses),
        attacked.failures[0] ?? "",
      ].join("  "),
    );
  }
  if (hotWallet.includes(values.only)) {
    const ratio = await measureHotWallet();
    if (ratio > maxHotWalletRatio) failed += 1;
    const verdict = ratio > maxHotWalletRatio ? "HARMED " : "ok     ";
    console.log(`${verdict}  ${hotWallet.padEnd(36)}  other wallets ${ratio.toFixed(2)} times slower`);
  }
  console.log(`${failed} attacks harmed the other tenant. In brackets: the same rate spread over many wallets.`);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  await fixture.close();
}
