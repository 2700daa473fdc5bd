import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { searxSettings } from "../../server/src/dev/searx/searx-settings.ts";
import { until } from "../../server/test/support/assertions/until.ts";
import { makeDebian, root } from "./build-image.ts";
import type { Containers } from "./containers.ts";

// Starts deploy/compose.yaml with podman-compose, the built image and stand-ins for the other images, and makes a paid
// search. Grafana is left out, because Debian has no package for it.

const standIns = ["postgres", "valkey", "searxng", "prometheus"];
const packages = ["gunicorn", "postgresql-15", "prometheus", "redis-server", "searx"];
const services = [...standIns, "migrate", "server", "worker"];

export async function testCompose(containers: Containers, folder: string, log: (line: string) => void): Promise<void> {
  const projectFolder = join(folder, "compose");
  rmSync(projectFolder, { recursive: true, force: true });
  cpSync(join(root, "deploy"), projectFolder, { recursive: true });
  // A missing folder cannot be mounted.
  for (const path of ["prometheus/rules", "grafana/dashboards"])
    mkdirSync(join(projectFolder, path), { recursive: true });
  const [port, metricsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const file = join(projectFolder, "compose.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace("127.0.0.1:8080:", `127.0.0.1:${port}:`).replace("127.0.0.1:9091:", `127.0.0.1:${metricsPort}:`),
  );
  await buildStandIns(containers, folder, text);
  log(`built stand-ins for ${standIns.join(", ")}`);

  const startedMs = performance.now();
  execFileSync(join(projectFolder, "make-env.sh"));
  const compose = (...args: string[]): Promise<string> =>
    containers.call("podman-compose", ["--file", file, "--project-name", "pb", ...args]);
  await compose("up", "--detach", "--no-build", ...services);
  await until("the server responds", () => isReachable(`http://127.0.0.1:${port}/openapi.json`), 120_000);
  const args = ["wallet", "create", "--name", "acme", "--balance", "5.00", "--json"];
  const output = await compose("run", "--rm", "--no-deps", "-T", "admin", ...args);
  const { liveKey } = JSON.parse(output.slice(output.indexOf("{"), output.lastIndexOf("}") + 1)) as { liveKey: string };
  const reply = await fetch(`http://127.0.0.1:${port}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": liveKey, "content-type": "application/json" },
    body: '{"query":"cats"}',
  });
  const answer = await reply.text();
  assert.equal(reply.status, 200, answer);
  assert.match(answer, /https:\/\/example\.org\/cats/);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  log(`paid search through searx ${seconds} s after "compose up"`);

  const upQuery = `http://127.0.0.1:${metricsPort}/api/v1/query?query=${encodeURIComponent('up{job=~"pennyblack.*"} == 1')}`;
  await until("Prometheus scrapes the server and the worker", async () => (await readCount(upQuery)) === 2, 90_000);
  log("Prometheus scrapes the server and the worker");
}

async function buildStandIns({ buildah }: Containers, folder: string, compose: string): Promise<void> {
  const context = join(folder, "services");
  makeDebian(join(context, "debian.tar"), ...packages);
  writeFileSync(join(context, "searx.json"), searxSettings({ index: "/var/index.sqlite" }));
  cpSync(join(import.meta.dirname, "stand-in/start-postgres.sh"), join(context, "start-postgres.sh"));
  const { services: composeServices } = parse(compose, { merge: true }) as {
    services: Record<string, { image: string }>;
  };
  for (const name of standIns) {
    const image = composeServices[name]?.image ?? "";
    const from = ["--file", join(import.meta.dirname, "stand-in/services.Containerfile"), "--target", name];
    await buildah("build", "--layers", "--pull=never", "--isolation=chroot", ...from, "--tag", image, context);
  }
}

async function isReachable(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function readCount(url: string): Promise<number> {
  const reply = await fetch(url).catch(() => undefined);
  if (!reply?.ok) return 0;
  const { data } = (await reply.json()) as { data: { result: unknown[] } };
  return data.result.length;
}
