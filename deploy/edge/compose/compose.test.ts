import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { type Edge, edgeFiles } from "../../../server/src/cells/edge-config.ts";
import { readFleet } from "../../../server/src/cells/operator-client.ts";
import { readConfig, serverSettings, workerSettings } from "../../../server/src/config/config.ts";
import { adapters } from "../../../server/src/providers/providers.ts";
import { assertFewPrivileges, assertValidCompose, type ServicePrivileges } from "../../check-compose.ts";

interface Service extends ServicePrivileges {
  image: string;
  env_file?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  networks: string[] | Record<string, { ipv4_address?: string }>;
  volumes?: string[];
  read_only?: boolean;
}

const read = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const { services } = parse(read("compose.yaml"), { merge: true }) as { services: Record<string, Service> };
const edge = JSON.parse(read("cells.json")) as Edge;
const cells = Object.keys(edge.cells);

// make-cells.sh calls deploy/make-settings.sh two folders above it.
const folder = mkdtempSync(join(tmpdir(), "pb-cells-"));
after(() => rmSync(folder, { recursive: true }));
const own = join(folder, "edge/compose");
mkdirSync(own, { recursive: true });
cpSync(join(import.meta.dirname, "../../make-settings.sh"), join(folder, "make-settings.sh"));
for (const name of ["make-cells.sh", "fleet.json"]) cpSync(join(import.meta.dirname, name), join(own, name));
const makeCells = (): string => execFileSync(join(own, "make-cells.sh"), { encoding: "utf8" });
makeCells();

test("the compose file is valid", () => assertValidCompose(import.meta.dirname));

test("the configuration of HAProxy is generated from cells.json, and HAProxy accepts it", () => {
  const command = "npm run edge -- --cells deploy/edge/compose/cells.json --out deploy/edge/compose --bind :8080";
  assert.ok(read("compose.yaml").includes(command));
  for (const [name, content] of Object.entries(edgeFiles(edge, { bind: ":8080", folder: "/etc/haproxy" })))
    assert.equal(read(name), content, `${name} is not current: ${command}`);
  for (const [name, content] of Object.entries(edgeFiles(edge, { bind: ":8080", folder })))
    writeFileSync(join(folder, name), content);
  const env = { PATH: `${process.env["PATH"]}:/usr/sbin` };
  const { status, stderr } = spawnSync("haproxy", ["-c", "-f", join(folder, "haproxy.cfg")], { env, encoding: "utf8" });
  assert.equal(status, 0, stderr);
});

test("HAProxy has the files that its configuration names, and the addresses are those of the servers", () => {
  const { volumes = [], networks } = find("haproxy");
  const mounted = volumes.map((volume) => volume.split(":")[1]);
  const named = [...read("haproxy.cfg").matchAll(/\/etc\/haproxy\/\w+\.map/g)].map(([path]) => path);
  assert.deepEqual(new Set(mounted), new Set(["/etc/haproxy/haproxy.cfg", ...named]));
  for (const cell of cells) {
    assert.deepEqual(edge.cells[cell]?.servers, [`${addressOf(find(`${cell}-server`))}:8080`]);
    assert.equal(find(`${cell}-server`).environment?.["PENNYBLACK_TRUSTED_PROXIES"], addressOf({ networks }));
  }
});

test("every process of a cell accepts its settings, and no cell has a secret of another", () => {
  const secrets = cells.map((cell) => {
    const server = readConfig(adapters, serverSettings, settingsOf(`${cell}-server`));
    assert.equal(new URL(server.publicUrl).hostname, edge.cells[cell]?.host);
    const { VALKEY_EXTRA_FLAGS: flags = "", REDISCLI_AUTH: password } = settingsOf(`${cell}-valkey`);
    assert.match(password ?? "", /^[0-9a-f]{48}$/);
    assert.equal(flags, `--requirepass ${password}`);
    assert.deepEqual([server.upstreams.length, server.redisUrl], [1, `redis://:${password}@${cell}-valkey:6379`]);
    assert.equal(new URL(server.ledgerDatabaseUrl).hostname, `${cell}-postgres`);
    assert.ok(readConfig(adapters, workerSettings, settingsOf(`${cell}-worker`)));
    assert.ok(readConfig(adapters, ["directDatabaseUrl", "keyPeppers", "secrets"], settingsOf(`${cell}-admin`)));
    const names = ["cell", "adminDatabaseUrl", "directDatabaseUrl", "ledgerDatabaseUrl"] as const;
    const migrate = readConfig(adapters, names, settingsOf(`${cell}-migrate`));
    assert.equal(migrate.cell, cell);
    assert.equal(new URL(migrate.adminDatabaseUrl ?? "").password, settingsOf(`${cell}-postgres`)["POSTGRES_PASSWORD"]);
    const urls = [server.ledgerDatabaseUrl, migrate.adminDatabaseUrl];
    return [server.secrets, server.keyPeppers, server.operators, ...urls, password];
  });
  const [first = [], second = []] = secrets;
  for (const [index, secret] of first.entries()) assert.notDeepEqual(secret, second[index]);
});

test("each server has the list of cells with their tokens", () => {
  const { PENNYBLACK_FLEET: path = "" } = find("eu1-server").environment ?? {};
  const mounts = ["./fleet.json:/etc/pennyblack/fleet.json:ro", "./secrets/tokens:/etc/pennyblack/tokens:ro"];
  assert.equal(path, "/etc/pennyblack/fleet.json");
  for (const cell of cells) assert.deepEqual(find(`${cell}-server`).volumes, mounts);
  const listed = readFleet(join(own, "fleet.json")).map(({ name, url, tokenFile }) => {
    const token = readFileSync(tokenFile.replace("/tokens/", "/secrets/tokens/"), "utf8").trim();
    const { operators } = readConfig(adapters, ["operators"], settingsOf(`${name}-server`));
    assert.deepEqual(operators, [{ name: "operator", token }]);
    assert.equal(url, `http://${addressOf(find(`${name}-server`))}:9090`);
    return name;
  });
  assert.deepEqual(listed, cells);
});

test("make-cells.sh keeps existing cells, and only the owner can read the secrets", () => {
  const before = settingsOf("eu1-server");
  assert.match(makeCells(), /eu1 already has settings\nus2 already has settings/);
  assert.deepEqual(settingsOf("eu1-server"), before);
  assert.equal(statSync(join(own, "secrets")).mode & 0o777, 0o700);
});

test("cells share no database and no network but the one of HAProxy, and ports are published on loopback", () => {
  const networksOf = (name: string): string[] => {
    const { networks } = find(name);
    return Array.isArray(networks) ? networks : Object.keys(networks);
  };
  for (const cell of cells) {
    for (const part of ["postgres", "valkey", "migrate", "admin"])
      assert.deepEqual(networksOf(`${cell}-${part}`), [`${cell}-data`], part);
    for (const part of ["server", "worker"])
      assert.deepEqual(networksOf(`${cell}-${part}`), [`${cell}-data`, "edge"], part);
  }
  const published = Object.entries(services).flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
  assert.deepEqual(published, [
    ["haproxy", "127.0.0.1:8080:8080"],
    ["eu1-server", "127.0.0.1:9090:9090"],
    ["us2-server", "127.0.0.1:9091:9090"],
  ]);
});

test("HAProxy and our services run with a read-only file system", () => {
  const hardened = Object.entries(services).filter(
    ([name, { image }]) => name === "haproxy" || image.startsWith("pennyblack:"),
  );
  assert.equal(hardened.length, 1 + 4 * cells.length);
  for (const [name, { read_only }] of hardened) assert.equal(read_only, true, name);
});

test("no service has capabilities but those its entry point needs, and none can gain privileges", () =>
  assertFewPrivileges(services));

function find(name: string): Service {
  const service = services[name];
  assert.ok(service, `no service ${name}`);
  return service;
}

function addressOf({ networks }: Pick<Service, "networks">): string | undefined {
  return Array.isArray(networks) ? undefined : networks["edge"]?.ipv4_address;
}

/** The environment that Compose would pass. */
function settingsOf(name: string): Record<string, string> {
  const { env_file: files = [], environment = {} } = find(name);
  const lines = files.flatMap((file) => readFileSync(join(own, file), "utf8").trimEnd().split("\n"));
  const pairs = lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
  return { ...Object.fromEntries(pairs), ...environment };
}
