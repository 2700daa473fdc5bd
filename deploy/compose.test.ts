import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { readConfig, serverSettings, workerSettings } from "../server/src/config/config.ts";
import { adapters } from "../server/src/providers/providers.ts";
import { assertFewPrivileges, assertValidCompose, type ServicePrivileges } from "./check-compose.ts";

interface Service extends ServicePrivileges {
  image?: string;
  environment?: Record<string, string>;
  ports?: string[];
  networks?: string[];
  read_only?: boolean;
  command?: string[];
}

const text = readFileSync(join(import.meta.dirname, "compose.yaml"), "utf8");
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
const ownServices = Object.entries(services).filter(([, { image }]) => image === "pennyblack:latest");

const folder = mkdtempSync(join(tmpdir(), "pb-compose-"));
after(() => rmSync(folder, { recursive: true }));
for (const name of ["make-env.sh", "prometheus"])
  cpSync(join(import.meta.dirname, name), join(folder, name), { recursive: true });
const makeEnv = (): string => execFileSync(join(folder, "make-env.sh"), { encoding: "utf8" });
const readEnv = (file = ".env"): Record<string, string> =>
  Object.fromEntries(
    [...readFileSync(join(folder, file), "utf8").matchAll(/^(\w+)=(.*)$/gm)].map(([, ...pair]) => pair),
  );

test("the compose file is valid", () => assertValidCompose(import.meta.dirname));

test("make-env.sh generates every secret used in compose.yaml once, in a file only its owner can read", () => {
  makeEnv();
  const generated = readEnv();
  const referenced = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
  const fix = "edit deploy/make-env.sh to generate the variables that deploy/compose.yaml uses";
  assert.deepEqual(new Set(Object.keys(generated)), new Set(referenced), fix);
  assert.equal(new Set(Object.values(generated)).size, Object.keys(generated).length, "two secrets are equal");
  assert.equal(statSync(join(folder, ".env")).mode & 0o777, 0o600);
  const receivers = join(folder, "alertmanager/alertmanager.yml");
  assert.equal(statSync(join(folder, "alertmanager")).mode & 0o777, 0o700);
  assert.equal(statSync(receivers).mode & 0o777, 0o644);
  assert.match(makeEnv(), /is up to date[^]*Alerts are not sent to anyone yet/);
  assert.deepEqual(readEnv(), generated);
  appendFileSync(receivers, "    webhook_configs: [{ url: https://example.org }]\n");
  assert.doesNotMatch(makeEnv(), /Alerts/);
  assert.match(readFileSync(receivers, "utf8"), /example\.org/, "existing receivers are kept");
});

test("make-env.sh adds missing secrets to an existing .env and keeps the others", () => {
  const generated = readEnv();
  const file = join(folder, ".env");
  writeFileSync(file, readFileSync(file, "utf8").replace(/^PEOPLE_PASSWORD=.*\n/m, ""));
  assert.match(makeEnv(), /added PEOPLE_PASSWORD to/);
  const { PEOPLE_PASSWORD: added, ...kept } = readEnv();
  assert.match(added ?? "", /^[0-9a-f]{48}$/);
  assert.deepEqual({ ...kept, PEOPLE_PASSWORD: generated["PEOPLE_PASSWORD"] }, generated);
});

test("server, worker, migrations and admin accept their settings", () => {
  const secrets = readEnv();
  const resolveSettings = (name: string): Record<string, string> => ({
    ...readEnv("settings.env"),
    ...Object.fromEntries(
      Object.entries(services[name]?.environment ?? {}).map(([setting, value]) => [
        setting,
        value.replace(/\$\{(\w+)\}/g, (_all, variable: string) => secrets[variable] ?? ""),
      ]),
    ),
  });
  const server = readConfig(adapters, serverSettings, resolveSettings("server"));
  assert.deepEqual([server.upstreams.length, server.operators.length], [1, 1]);
  assert.ok(readConfig(adapters, workerSettings, resolveSettings("worker")));
  assert.ok(
    readConfig(adapters, ["adminDatabaseUrl", "directDatabaseUrl", "ledgerDatabaseUrl"], resolveSettings("migrate")),
  );
  assert.ok(readConfig(adapters, ["directDatabaseUrl", "keyPeppers", "secrets"], resolveSettings("admin")));
});

test("only the server and the monitoring publish ports, on loopback, and databases have no external network", () => {
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
    ports.map((port) => `${name} ${port}`),
  );
  assert.deepEqual(published, [
    "server 127.0.0.1:8080:8080",
    "server 127.0.0.1:9090:9090",
    "prometheus 127.0.0.1:9091:9090",
    "alertmanager 127.0.0.1:9093:9093",
    "grafana 127.0.0.1:3000:3000",
  ]);
  for (const name of ["postgres", "valkey"]) assert.deepEqual(services[name]?.networks, ["data"], name);
});

test("our services run with a read-only file system", () => {
  assert.deepEqual(ownServices.map(([name]) => name).toSorted(), ["admin", "migrate", "server", "worker"]);
  for (const [name, { read_only }] of ownServices) assert.equal(read_only, true, name);
});

test("no service has capabilities but those its entry point needs, and none can gain privileges", () =>
  assertFewPrivileges(services));

test("Valkey requires the password that the server has", () => {
  const { command = [] } = services["valkey"] ?? {};
  assert.equal(command[command.indexOf("--requirepass") + 1], "${VALKEY_PASSWORD}");
  assert.equal(services["server"]?.environment?.["REDIS_URL"], "redis://:${VALKEY_PASSWORD}@valkey:6379");
});

test("Prometheus scrapes every process and exporter by the name of its service, and sends alerts to Alertmanager", () => {
  const config = parse(readFileSync(join(import.meta.dirname, "prometheus/prometheus.yml"), "utf8")) as {
    alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
    scrape_configs: { dns_sd_configs?: { names: string[] }[]; static_configs?: { targets: string[] }[] }[];
  };
  const targets = config.scrape_configs.flatMap(({ dns_sd_configs = [], static_configs = [] }) => [
    ...dns_sd_configs.flatMap(({ names }) => names),
    ...static_configs.flatMap((list) => list.targets.map((target) => target.split(":")[0] ?? "")),
  ]);
  assert.deepEqual(targets, ["server", "worker", "node-exporter", "postgres-exporter", "localhost", "alertmanager"]);
  assert.deepEqual(config.alerting.alertmanagers[0]?.static_configs[0]?.targets, ["alertmanager:9093"]);
  // Each of them shares a network with Prometheus.
  const networks = services["prometheus"]?.networks ?? [];
  for (const name of targets.filter((target) => target !== "localhost"))
    assert.ok(
      services[name]?.networks?.some((network) => networks.includes(network)),
      name,
    );
});
