import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { searxSettings } from "../../server/src/dev/searx/searx-settings.ts";
import { until } from "../../server/test/until.ts";
import { makeDebian, root } from "./build-image.ts";
import type { Containers } from "./containers.ts";

// deploy/compose.yaml as it is, started by podman-compose over the image and stand-ins for the others, up to a paid search.
// Grafana is left out: there is nothing in Debian to stand in for it.

const standIns = ["postgres", "valkey", "searxng", "prometheus"];
const packages = ["gunicorn", "postgresql-15", "prometheus", "redis-server", "searx"];
const services = [...standIns, "migrate", "server", "worker"];

export async function testCompose(containers: Containers, folder: string, say: (line: string) => void): Promise<void> {
  const place = join(folder, "compose");
  rmSync(place, { recursive: true, force: true });
  cpSync(join(root, "deploy"), place, { recursive: true });
  // The rules are read as they are. A folder that holds none cannot be mounted.
  for (const path of ["prometheus/rules", "grafana/dashboards"]) mkdirSync(join(place, path), { recursive: true });
  const [port, metricsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const file = join(place, "compose.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(
    file,
    text.replace("127.0.0.1:8080:", `127.0.0.1:${port}:`).replace("127.0.0.1:9091:", `127.0.0.1:${metricsPort}:`),
  );
  await buildStandIns(containers, folder, text);
  say(`stand-ins are ready for ${standIns.join(", ")}`);

  const startedMs = performance.now();
  execFileSync(join(place, "make-env.sh"));
  const compose = (...words: string[]): Promise<string> =>
    containers.call("podman-compose", ["--file", file, "--project-name", "pb", ...words]);
  await compose("up", "--detach", "--no-build", ...services);
  await until("the server answers", () => isAnswering(`http://127.0.0.1:${port}/openapi.json`), 120_000);
  const words = ["wallet", "create", "--name", "acme", "--balance", "5.00", "--json"];
  const made = await compose("run", "--rm", "--no-deps", "-T", "admin", ...words);
  const { liveKey } = JSON.parse(made.slice(made.indexOf("{"), made.lastIndexOf("}") + 1)) as { liveKey: string };
  const reply = await fetch(`http://127.0.0.1:${port}/v1/search`, {
    method: "POST",
    headers: { "x-api-key": liveKey, "content-type": "application/json" },
    body: '{"query":"cats"}',
  });
  const answer = await reply.text();
  assert.equal(reply.status, 200, answer);
  assert.match(answer, /https:\/\/example\.org\/cats/);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  say(`a paid search through searx, ${seconds} s after "compose up"`);

  const up = `http://127.0.0.1:${metricsPort}/api/v1/query?query=${encodeURIComponent('up{job=~"pennyblack.*"} == 1')}`;
  await until("Prometheus sees the server and the worker", async () => (await readCount(up)) === 2, 90_000);
  say("Prometheus sees the server and the worker");
}

async function buildStandIns({ buildah }: Containers, folder: string, compose: string): Promise<void> {
  const context = join(folder, "services");
  makeDebian(join(context, "debian.tar"), ...packages);
  writeFileSync(join(context, "searx.json"), searxSettings({ index: "/var/index.sqlite" }));
  cpSync(join(import.meta.dirname, "stand-in/start-postgres.sh"), join(context, "start-postgres.sh"));
  const { services: named } = parse(compose, { merge: true }) as { services: Record<string, { image: string }> };
  for (const name of standIns) {
    const image = named[name]?.image ?? "";
    const from = ["--file", join(import.meta.dirname, "stand-in/services.Containerfile"), "--target", name];
    await buildah("build", "--layers", "--pull=never", "--isolation=chroot", ...from, "--tag", image, context);
  }
}

async function isAnswering(url: string): Promise<boolean> {
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
