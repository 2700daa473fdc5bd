import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { readConfig, serverSettings, workerSettings } from "../server/src/config/config.ts";
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
cpSync(join(import.meta.dirname, "make-env.sh"), join(folder, "make-env.sh"));
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
  assert.match(makeEnv(), /is up to date/);
  assert.deepEqual(readEnv(), generated);
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
  const server = readConfig(serverSettings, resolveSettings("server"));
  assert.deepEqual([server.upstreams.length, server.operators.length], [1, 1]);
  assert.ok(readConfig(workerSettings, resolveSettings("worker")));
  assert.ok(readConfig(["adminDatabaseUrl", "directDatabaseUrl", "ledgerDatabaseUrl"], resolveSettings("migrate")));
  assert.ok(readConfig(["directDatabaseUrl", "keyPeppers", "secrets"], resolveSettings("admin")));
});

test("only the server, Prometheus and Grafana publish ports, on loopback, and databases have no external network", () => {
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
    ports.map((port) => `${name} ${port}`),
  );
  assert.deepEqual(published, [
    "server 127.0.0.1:8080:8080",
    "server 127.0.0.1:9090:9090",
    "prometheus 127.0.0.1:9091:9090",
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
