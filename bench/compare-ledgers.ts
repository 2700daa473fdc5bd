import type { Checkout, Variant } from "./checkout.ts";
import { driveLedger, type LedgerRound } from "./drive-ledger.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import { openCheckouts } from "./open-checkouts.ts";
import type { BenchOptions } from "./read-options.ts";
import { rotate } from "./rotate.ts";
import type { Postgres } from "./start-postgres.ts";
import { formatSpread, summarize, summarizeRatio } from "./summarize.ts";

interface Measured {
  checkout: Checkout;
  captured: number;
  rounds: LedgerRound[];
}

/** Hold and capture on one wallet through the lanes of two checkouts, in alternating rounds. */
export async function compareLedgers(postgres: Postgres, options: BenchOptions): Promise<Record<string, number>> {
  const checkouts = Object.values(await openCheckouts(postgres.adminUrl, options.beforeFolder, 1));
  const measured = checkouts.map((checkout): Measured => ({ checkout, captured: 0, rounds: [] }));
  const figures: Record<string, number> = {};
  const table: string[][] = [];
  try {
    for (const variant of options.variants) {
      await measure(measured, variant, postgres, options);
      const [current = [], before = []] = measured.map(({ rounds }) => rounds);
      const rates = [current, before].map((rounds) => rounds.map((round) => round.perSecond));
      const cpu = [current, before].map((rounds) => rounds.map((round) => round.postgresUs));
      const ratios = [rates, cpu].map(([over = [], under = []]) => summarizeRatio({ over, under }));
      const medians = [...rates, ...cpu].map((values) => formatNumber(summarize(values).median));
      table.push([variant, ...medians, ...ratios.map(formatSpread)]);
      console.error(table.at(-1)?.join("  "));
      figures[`rate_over_before_${variant}`] = Number(ratios[0]?.median.toFixed(3));
      figures[`cpu_over_before_${variant}`] = Number(ratios[1]?.median.toFixed(3));
    }
    const head = ["one wallet", "hold+capture/s", "before", "PostgreSQL us", "before", "rate / before", "us / before"];
    console.log(formatTable(head, table));
    for (const { checkout, captured } of measured) console.log(await checkout.checkCharges(captured));
    return figures;
  } finally {
    await Promise.all(checkouts.map((checkout) => checkout.close()));
  }
}

async function measure(
  measured: readonly Measured[],
  variant: Variant,
  { pid: postgresPid }: Postgres,
  { rounds, seconds, warmUpSeconds, loops }: BenchOptions,
): Promise<void> {
  for (const each of measured) each.rounds = [];
  for (let round = 0; round <= rounds; round += 1) {
    for (const each of rotate(measured, round)) {
      const { ledger } = each.checkout;
      const pick = () => each.checkout.newSearch(variant, 0);
      const isWarmUp = round === 0;
      const done = await driveLedger({ ledger, loops, pick, seconds: isWarmUp ? warmUpSeconds : seconds, postgresPid });
      each.captured += done.searches;
      if (!isWarmUp) each.rounds.push(done);
    }
  }
}
