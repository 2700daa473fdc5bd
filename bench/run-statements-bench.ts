import { randomUUIDv7 } from "node:crypto";
import type { Checkout, Search, Variant } from "./checkout.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { openCheckouts } from "./open-checkouts.ts";
import { readMainThreadMicroseconds } from "./read-cpu.ts";
import type { BenchOptions } from "./read-options.ts";
import { rotate } from "./rotate.ts";
import { startPostgres } from "./start-postgres.ts";
import { formatSpread, summarize, summarizeRatio } from "./summarize.ts";

// PostgreSQL's CPU time for one statement of the ledger, by the number and the kind of its searches. One connection
// and one statement at a time, so that the minimum of the rounds hardly depends on other work on the machine.

const sizes = [1, 3, 10, 30, 100];
const wallets = 300;

/** Mean CPU time of a statement in microseconds. */
interface Round {
  hold: number;
  capture: number;
}

interface Measured {
  checkout: Checkout;
  captured: number;
}

export async function runStatementsBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const postgres = await startPostgres(harness);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}\n`);
  const checkouts = await openCheckouts(postgres.adminUrl, options.beforeFolder, wallets);
  const measured = Object.values(checkouts).map((checkout): Measured => ({ checkout, captured: 0 }));
  const figures: Record<string, number> = {};
  const table: string[][] = [];
  try {
    for (const variant of options.variants) {
      for (const size of sizes) {
        const [current = [], before] = await measure(measured, variant, size, options);
        const suffix = variant === "plain" ? `of_${size}` : `of_${size}_${variant}`;
        const [hold, capture] = [summarizeAll(current, "hold"), summarizeAll(current, "capture")];
        figures[`hold_us_${suffix}`] = Math.round(hold.min);
        figures[`capture_us_${suffix}`] = Math.round(capture.min);
        const cells = [hold.min, hold.median, capture.min, capture.median, (hold.min + capture.min) / size];
        const row = [`${variant} ${size}`, ...cells.map(formatNumber)];
        if (before) {
          const ratio = summarizeRatio({ over: current.map(sumOf), under: before.map(sumOf) });
          figures[`over_before_${suffix}`] = Number(ratio.median.toFixed(3));
          row.push(formatNumber(summarizeAll(before, "hold").min), formatNumber(summarizeAll(before, "capture").min));
          row.push(formatSpread(ratio));
        }
        table.push(row);
        console.error(row.join("  "));
      }
    }
    const head = ["searches per statement", "hold us", "median", "capture us", "median", "us per search"];
    console.log(
      formatTable([...head, ...(checkouts.before ? ["before: hold", "capture", "current / before"] : [])], table),
    );
    for (const { checkout, captured } of measured) console.log(`\n${await checkout.checkCharges(captured)}`);
    return figures;
  } finally {
    await Promise.all(measured.map(({ checkout }) => checkout.close()));
  }
}

/** The rounds of each checkout. The checkouts take turns within a round. */
async function measure(
  measured: readonly Measured[],
  variant: Variant,
  size: number,
  { rounds, seconds, warmUpSeconds }: BenchOptions,
): Promise<Round[][]> {
  const results = measured.map((): Round[] => []);
  for (const each of measured) await drive(each, variant, size, warmUpSeconds / 4);
  for (let round = 0; round < rounds; round += 1) {
    for (const index of rotate([...measured.keys()], round))
      results[index]?.push(await drive(measured[index] as Measured, variant, size, seconds / 10));
  }
  return results;
}

async function drive(measured: Measured, variant: Variant, size: number, seconds: number): Promise<Round> {
  const { checkout } = measured;
  const total = { hold: 0, capture: 0, statements: 0 };
  const endMs = performance.now() + seconds * 1_000;
  for (let next = 0; performance.now() < endMs || total.statements === 0; next += size) {
    const searches = Array.from({ length: size }, (_, index): Search => {
      const search = checkout.newSearch(variant, (next + index) % wallets);
      return { ...search, searchId: randomUUIDv7() };
    });
    const before = readMainThreadMicroseconds(checkout.pid);
    await checkout.hold(searches);
    const between = readMainThreadMicroseconds(checkout.pid);
    await checkout.capture(searches);
    total.hold += between - before;
    total.capture += readMainThreadMicroseconds(checkout.pid) - between;
    total.statements += 1;
  }
  measured.captured += total.statements * size;
  return { hold: total.hold / total.statements, capture: total.capture / total.statements };
}

function summarizeAll(rounds: readonly Round[], name: keyof Round) {
  return summarize(rounds.map((round) => round[name]));
}

function sumOf({ hold, capture }: Round): number {
  return hold + capture;
}
