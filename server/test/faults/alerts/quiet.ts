import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { stringify } from "yaml";
import { readRules } from "../../support/docs/read-rules.ts";
import { findPrometheus } from "../../support/services/prometheus-programs.ts";
import { type Extension, extendSeries, type RecordedSeries } from "./extend-series.ts";
import type { Installation } from "./installation.ts";
import { search } from "./load.ts";

// A new installation that answers its first searches, and then an idle one, must not cause any alert. Its metrics are recorded
// with the shipped intervals, extended to a day and evaluated by promtool, because some rules look back for hours.

const rulesFolder = resolve(import.meta.dirname, "../../../../deploy/prometheus/rules");
const dayMinutes = 24 * 60;

export interface QuietResult {
  searches: Record<string, number>;
  series: number;
  minutes: number;
  /** The highest resident memory of each process. */
  memoryMib: Record<string, number>;
  /** Firing alerts with the number of evaluations at which they fired: every minute of the first hours, and every five of a day. */
  firstHours: string[];
  firstDay: string[];
  idleDay: string[];
  /** An idle hour without the worker, which must be noticed. */
  withoutWorker: string[];
}

export async function recordQuiet(
  installation: Installation,
  { searches, idleMinutes }: { searches: number; idleMinutes: number },
): Promise<QuietResult> {
  const startedAt = Date.now() / 1_000;
  const statuses: Record<string, number> = {};
  await Promise.all(
    Array.from({ length: 10 }, async (_, caller) => {
      for (let count = caller; count < searches; count += 10) {
        const { status } = await search(installation, { timeoutMs: 60_000 });
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    }),
  );
  // The last searches are in the next scrape.
  await wait(60_000);
  const idleFrom = Math.ceil((Date.now() / 1_000 - startedAt) / 60);
  const recorded = idleFrom + idleMinutes;
  await wait((startedAt + recorded * 60) * 1_000 - Date.now());

  const series = await readSeries(installation, recorded);
  const first: Extension = { startedAt, recorded, repeatedFrom: idleFrom, minutes: dayMinutes };
  const idle: Extension = {
    startedAt: startedAt + idleFrom * 60,
    recorded: idleMinutes,
    repeatedFrom: 0,
    minutes: dayMinutes,
  };
  const withoutWorker = series.filter(({ metric }) => metric["job"] !== "pennyblack-worker");
  return {
    searches: statuses,
    series: series.length,
    minutes: recorded,
    memoryMib: await readMemory(installation, recorded),
    firstHours: findAlerts(series, { ...first, minutes: recorded + 60 }, 1),
    firstDay: findAlerts(series, first, 5),
    idleDay: findAlerts(series, idle, 5),
    withoutWorker: findAlerts(withoutWorker, { ...idle, minutes: 60 }, 1),
  };
}

/** The series that the rules use. */
async function readSeries({ monitoring }: Installation, minutes: number): Promise<RecordedSeries[]> {
  const words = new Set(readRules(rulesFolder).match(/\w+/g));
  const names = (await monitoring.names()).filter((name) => words.has(name) && name !== "ALERTS");
  const query = `{__name__=~"${names.join("|")}"}[${minutes + 1}m]`;
  const response = await fetch(`${monitoring.prometheusUrl}/api/v1/query`, {
    method: "POST",
    body: new URLSearchParams({ query }),
  });
  const { data } = (await response.json()) as { data: { result: Omit<RecordedSeries, "isCounter">[] } };
  const isCounter = await readCounters(monitoring);
  return data.result.map((each) => ({ ...each, isCounter: isCounter(each.metric["__name__"] ?? "") }));
}

async function readCounters({ prometheusUrl }: Installation["monitoring"]): Promise<(name: string) => boolean> {
  const response = await fetch(`${prometheusUrl}/api/v1/metadata`);
  const { data } = (await response.json()) as { data: Record<string, { type: string }[]> };
  const typeOf = (name: string): string | undefined => data[name]?.[0]?.type;
  return (name) => {
    const type = typeOf(name) ?? typeOf(name.replace(/_(?:total|bucket|count|sum)$/, ""));
    return type === "counter" || type === "histogram" || type === "summary";
  };
}

async function readMemory({ monitoring }: Installation, minutes: number): Promise<Record<string, number>> {
  const query = `max by (job) (max_over_time(process_resident_memory_bytes{job=~"pennyblack-(server|worker)"}[${minutes}m]))`;
  const rows = await monitoring.query(query);
  return Object.fromEntries(rows.map(({ metric, value }) => [metric["job"] ?? "", Math.round(value / 2 ** 20)]));
}

/** Evaluates the rules. Every minute of a whole day would take promtool several minutes. */
function findAlerts(series: readonly RecordedSeries[], extension: Extension, everyMinutes: number): string[] {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-quiet-"));
  try {
    cpSync(rulesFolder, join(folder, "rules"), { recursive: true });
    const firing = 'count_over_time(ALERTS{alertstate="firing",alertname!="Watchdog"}[1d])';
    const file = {
      rule_files: ["rules/*.yml"],
      evaluation_interval: `${everyMinutes}m`,
      tests: [
        {
          interval: "1m",
          input_series: series.map((each) => extendSeries(each, extension)),
          promql_expr_test: [{ expr: firing, eval_time: `${extension.minutes}m`, exp_samples: [] }],
        },
      ],
    };
    writeFileSync(join(folder, "test.yml"), stringify(file, { lineWidth: 0 }));
    const promtool = findPrometheus("promtool");
    assert.ok(promtool, "promtool is missing; .ci/run unpacks Debian's");
    const { status, stdout, stderr } = spawnSync(promtool, ["test", "rules", "test.yml"], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    if (status === 0) return [];
    const alerts = `${stdout}${stderr}`.match(/\{alertname=[^}]*\} \S+/g) ?? [];
    return alerts.length > 0 ? alerts : [`promtool failed: ${stdout}${stderr}`.slice(0, 4_000)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
