import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse, stringify } from "yaml";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import { killAfterTests } from "./node-process.ts";
import { findPrometheus } from "./prometheus-programs.ts";
import { startReceiver } from "./webhook-receiver.ts";

// Debian's Prometheus, Alertmanager and exporters with the files of deploy/prometheus, in which only addresses and, on
// request, times are replaced.

const shipped = resolve(import.meta.dirname, "../../../../deploy/prometheus");

export interface MonitoringOptions {
  /** Internal listeners, without the scheme. */
  servers: readonly string[];
  workers: readonly string[];
  /** The URL that postgres_exporter connects with. */
  databaseUrl: string;
  /** The folder of the textfile collector of node_exporter. */
  textfiles?: string;
  /** Replaces the times of the shipped files, so that a notification takes seconds. */
  isFast?: boolean;
}

/** An alert in a notification of Alertmanager's webhook. */
export interface Notification {
  /** The receiver of alertmanager.yml. */
  receiver: string;
  status: "firing" | "resolved";
  labels: Record<string, string>;
  annotations: Record<string, string>;
  receivedAt: number;
}

export interface Monitoring {
  prometheusUrl: string;
  alertmanagerUrl: string;
  /** In the order of their arrival. */
  notifications: Notification[];
  /** The values of an instant query. */
  query: (expression: string) => Promise<{ metric: Record<string, string>; value: number }[]>;
  /** The names of all series. */
  names: () => Promise<string[]>;
  processes: Record<"alertmanager" | "nodeExporter" | "postgresExporter" | "prometheus", ChildProcess>;
  close(): Promise<void>;
}

interface PrometheusConfig {
  global: object;
  rule_files: string[];
  alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
  scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
}

export async function startMonitoring(options: MonitoringOptions): Promise<Monitoring> {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-monitoring-"));
  const receiver = await startNotificationReceiver();
  const [prometheus, alertmanager, node, postgres] = await Promise.all([1, 2, 3, 4].map(chooseAddress));
  assert.ok(prometheus && alertmanager && node && postgres);
  writeAlertmanagerConfig(folder, receiver, options);
  writePrometheusConfig(folder, { prometheus, alertmanager, node, postgres }, options);
  const textfiles = options.textfiles ?? join(folder, "textfiles");
  mkdirSync(textfiles, { recursive: true });

  const start = (program: Parameters<typeof findPrometheus>[0], args: string[], env: object = {}): ChildProcess => {
    const found = findPrometheus(program);
    assert.ok(found, `${program} is missing; .ci/run unpacks Debian's`);
    const child = spawn(found, args, {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-2_000)));
    child.once("exit", (code) => {
      if (code !== null) process.stderr.write(`${program} exited with ${code}: ${log}\n`);
    });
    return killAfterTests(child);
  };
  const processes = {
    alertmanager: start("prometheus-alertmanager", [
      `--config.file=${folder}/alertmanager.yml`,
      `--storage.path=${folder}/alertmanager`,
      `--web.listen-address=${alertmanager}`,
      "--cluster.listen-address=",
    ]),
    nodeExporter: start("prometheus-node-exporter", [
      `--web.listen-address=${node}`,
      `--collector.textfile.directory=${textfiles}`,
    ]),
    postgresExporter: start("prometheus-postgres-exporter", [`--web.listen-address=${postgres}`], {
      DATA_SOURCE_NAME: `${options.databaseUrl}?sslmode=disable`,
    }),
    prometheus: start("prometheus", [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${prometheus}`,
    ]),
  };
  const prometheusUrl = `http://${prometheus}`;
  await until("Prometheus is ready", () => isReady(`${prometheusUrl}/-/ready`), 60_000);
  await until("Alertmanager is ready", () => isReady(`http://${alertmanager}/-/ready`), 60_000);

  return {
    prometheusUrl,
    alertmanagerUrl: `http://${alertmanager}`,
    notifications: receiver.notifications,
    query: (expression) => query(prometheusUrl, expression),
    names: async () => {
      const response = await fetch(`${prometheusUrl}/api/v1/label/__name__/values`);
      return ((await response.json()) as { data: string[] }).data;
    },
    processes,
    async close() {
      await Promise.all(Object.values(processes).map(stop));
      await receiver.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

function writeAlertmanagerConfig(folder: string, { url }: { url: string }, { isFast }: MonitoringOptions): void {
  const config = parse(readFileSync(join(shipped, "alertmanager.yml"), "utf8")) as { receivers: { name: string }[] };
  const receivers = config.receivers.map(({ name }) => ({ name, webhook_configs: [{ url: `${url}/${name}` }] }));
  const text = stringify({ ...config, receivers });
  const faster = text
    .replaceAll(/(group_wait|group_interval): \S+/g, "$1: 1s")
    .replaceAll(/repeat_interval: \S+/g, "repeat_interval: 2s");
  writeFileSync(join(folder, "alertmanager.yml"), isFast ? faster : text);
}

function writePrometheusConfig(
  folder: string,
  addresses: Record<"prometheus" | "alertmanager" | "node" | "postgres", string>,
  { servers, workers, isFast }: MonitoringOptions,
): void {
  const config = parse(readFileSync(join(shipped, "debian/prometheus.yml"), "utf8")) as PrometheusConfig;
  const targets: Record<string, readonly string[]> = {
    "pennyblack-server": servers,
    "pennyblack-worker": workers,
    "pennyblack-database-host": [addresses.node],
    "pennyblack-postgres": [addresses.postgres],
    "pennyblack-prometheus": [addresses.prometheus, addresses.alertmanager],
  };
  config.rule_files = [`${folder}/rules/*.yml`];
  config.alerting.alertmanagers = [{ static_configs: [{ targets: [addresses.alertmanager] }] }];
  for (const job of config.scrape_configs) {
    const own = targets[job.job_name];
    assert.ok(own, `no address for the job ${job.job_name}`);
    job.static_configs = [{ targets: [...own] }];
  }
  if (isFast) config.global = { scrape_interval: "1s", evaluation_interval: "1s" };
  writeFileSync(join(folder, "prometheus.yml"), stringify(config));
  cpSync(join(shipped, "rules"), join(folder, "rules"), { recursive: true });
  if (!isFast) return;
  for (const file of readdirSync(join(folder, "rules"))) {
    const path = join(folder, "rules", file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/\bfor: \S+/g, "for: 2s"));
  }
}

async function startNotificationReceiver(): Promise<{
  url: string;
  notifications: Notification[];
  close: () => Promise<void>;
}> {
  const receiver = await startReceiver();
  const notifications: Notification[] = [];
  receiver.answer(({ path, event }, response) => {
    const { alerts } = event as { alerts: Omit<Notification, "receiver" | "receivedAt">[] };
    for (const { status, labels, annotations } of alerts)
      notifications.push({ receiver: path.slice(1), status, labels, annotations, receivedAt: Date.now() });
    response.writeHead(200).end();
  });
  return { url: receiver.url, notifications, close: () => receiver.close() };
}

async function chooseAddress(): Promise<string> {
  return `127.0.0.1:${await choosePort({ host: "127.0.0.1" })}`;
}

async function isReady(url: string): Promise<boolean> {
  return (await fetch(url).catch(() => undefined))?.status === 200;
}

async function query(url: string, expression: string): ReturnType<Monitoring["query"]> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const { status, error, data } = (await response.json()) as {
    status: string;
    error?: string;
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  assert.equal(status, "success", error);
  return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
