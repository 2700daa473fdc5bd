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
    for (const size of sizes) {
      const rounds = await measure(measured, size, options);
      for (const variant of options.variants) {
        const row = toRow(rounds, variant, size, figures);
        table.push(row);
        console.error(row.join("  "));
      }
    }
    const head = ["searches per statement", "hold us", "median", "capture us", "median", "us per search", "/ plain"];
    console.log(
      formatTable([...head, ...(checkouts.before ? ["before: hold", "capture", "current / before"] : [])], table),
    );
    for (const { checkout, captured } of measured) console.log(`\n${await checkout.checkCharges(captured)}`);
    return figures;
  } finally {
    await Promise.all(measured.map(({ checkout }) => checkout.close()));
  }
}

/** The rounds of each variant, of this checkout and of the other one. */
type Rounds = ReadonlyMap<Variant, Round[][]>;

/** Variants and checkouts take turns within a round. */
async function measure(
  measured: readonly Measured[],
  size: number,
  { rounds, seconds, warmUpSeconds, variants }: BenchOptions,
): Promise<Rounds> {
  const results = new Map(variants.map((variant) => [variant, measured.map((): Round[] => [])]));
  const turns = variants.flatMap((variant) => [...measured.keys()].map((index) => ({ variant, index })));
  for (const { variant, index } of turns) await drive(measured[index] as Measured, variant, size, warmUpSeconds / 4);
  for (let round = 0; round < rounds; round += 1) {
    for (const { variant, index } of rotate(turns, round))
      results.get(variant)?.[index]?.push(await drive(measured[index] as Measured, variant, size, seconds / 10));
  }
  return results;
}

function toRow(rounds: Rounds, variant: Variant, size: number, figures: Record<string, number>): string[] {
  const [current = [], before] = rounds.get(variant) ?? [];
  const [plain] = rounds.get("plain") ?? [];
  const suffix = variant === "plain" ? `of_${size}` : `of_${size}_${variant}`;
  const [hold, capture] = [summarizeAll(current, "hold"), summarizeAll(current, "capture")];
  figures[`hold_us_${suffix}`] = Math.round(hold.min);
  figures[`capture_us_${suffix}`] = Math.round(capture.min);
  const cells = [hold.min, hold.median, capture.min, capture.median, (hold.min + capture.min) / size];
  const row = [`${variant} ${size}`, ...cells.map(formatNumber)];
  const overPlain = plain && summarizeRatio({ over: current.map(sumOf), under: plain.map(sumOf) });
  if (overPlain && variant !== "plain") figures[`over_plain_${suffix}`] = Number(overPlain.median.toFixed(3));
  row.push(overPlain ? formatSpread(overPlain) : "");
  if (before) {
    const ratio = summarizeRatio({ over: current.map(sumOf), under: before.map(sumOf) });
    figures[`over_before_${suffix}`] = Number(ratio.median.toFixed(3));
    row.push(formatNumber(summarizeAll(before, "hold").min), formatNumber(summarizeAll(before, "capture").min));
    row.push(formatSpread(ratio));
  }
  return row;
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
