import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { readConfig, serverSettings, workerSettings } from "../server/src/config.ts";

interface Service {
  image?: string;
  environment?: Record<string, string>;
  ports?: string[];
  networks?: string[];
  read_only?: boolean;
  cap_drop?: string[];
}

const text = readFileSync(join(import.meta.dirname, "compose.yaml"), "utf8");
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };
const ours = Object.entries(services).filter(([, { image }]) => image === "pennyblack:latest");

const folder = mkdtempSync(join(tmpdir(), "pb-compose-"));
after(() => rmSync(folder, { recursive: true }));
cpSync(join(import.meta.dirname, "make-env.sh"), join(folder, "make-env.sh"));
const makeEnv = (): string => execFileSync(join(folder, "make-env.sh"), { encoding: "utf8" });
const readEnv = (file = ".env"): Record<string, string> =>
  Object.fromEntries(
    [...readFileSync(join(folder, file), "utf8").matchAll(/^(\w+)=(.*)$/gm)].map(([, ...pair]) => pair),
  );

test("Docker would start the compose file", () => {
  // About the order of things, and about quotes, which Biome has a say in.
  const tastes = [
    "service-keys-order",
    "services-alphabetical-order",
    "top-level-properties-order",
    "require-quotes-in-ports",
  ];
  const dclint = join(import.meta.dirname, "../node_modules/.bin/dclint");
  const words = ["compose.yaml", "--max-warnings=0", ...tastes.map((rule) => `--disable-rule=${rule}`)];
  const { status, stdout, stderr } = spawnSync(dclint, words, { cwd: import.meta.dirname, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test("the secrets are made once, for their owner's eyes, and are all that the compose file asks for", () => {
  makeEnv();
  const made = readEnv();
  const asked = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name);
  assert.deepEqual(new Set(Object.keys(made)), new Set(asked));
  assert.equal(new Set(Object.values(made)).size, Object.keys(made).length, "two secrets are alike");
  assert.equal(statSync(join(folder, ".env")).mode & 0o777, 0o600);
  assert.match(makeEnv(), /stays as it is/);
  assert.deepEqual(readEnv(), made);
});

test("an .env of an older version keeps its secrets and gets what it lacks", () => {
  const made = readEnv();
  const file = join(folder, ".env");
  writeFileSync(file, readFileSync(file, "utf8").replace(/^PEOPLE_PASSWORD=.*\n/m, ""));
  assert.match(makeEnv(), /wrote PEOPLE_PASSWORD into/);
  const { PEOPLE_PASSWORD: added, ...kept } = readEnv();
  assert.match(added ?? "", /^[0-9a-f]{48}$/);
  assert.deepEqual({ ...kept, PEOPLE_PASSWORD: made["PEOPLE_PASSWORD"] }, made);
});

test("server, worker and migrations accept the settings that they get", () => {
  const secrets = readEnv();
  const given = (name: string): Record<string, string> => ({
    ...readEnv("settings.env"),
    ...Object.fromEntries(
      Object.entries(services[name]?.environment ?? {}).map(([setting, value]) => [
        setting,
        value.replace(/\$\{(\w+)\}/g, (_all, variable: string) => secrets[variable] ?? ""),
      ]),
    ),
  });
  const server = readConfig(serverSettings, given("server"));
  assert.deepEqual([server.upstreams.length, server.operators.length], [1, 1]);
  assert.ok(readConfig(workerSettings, given("worker")));
  assert.ok(readConfig(["adminDatabaseUrl", "directDatabaseUrl", "ledgerDatabaseUrl"], given("migrate")));
  assert.ok(readConfig(["directDatabaseUrl", "keyPeppers", "secret"], given("admin")));
});

test("only the server, Prometheus and Grafana can be reached, from this machine alone, and databases see no outside", () => {
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

test("what is ours runs with a file system it cannot write to and no capability", () => {
  assert.deepEqual(ours.map(([name]) => name).toSorted(), ["admin", "migrate", "server", "worker"]);
  for (const [name, { read_only, cap_drop }] of ours) assert.deepEqual([read_only, cap_drop], [true, ["ALL"]], name);
});
