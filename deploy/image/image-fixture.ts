import { randomBytes } from "node:crypto";
import { createPool } from "../../server/src/db/pool.ts";
import { withRole } from "../../server/src/db/roles.ts";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { superuserUrl } from "../../server/test/database.ts";
import { startHostileUpstream } from "../../server/test/hostile-upstream.ts";
import { until } from "../../server/test/until.ts";
import { imageName } from "./build-image.ts";
import type { Containers, Run } from "./containers.ts";

// The image as an operator runs it: migrations, two servers and a worker, none of them root, none with a file system it can
// write to. They share the machine's network, and with it the PostgreSQL of the tests.

export interface Service {
  name: string;
  url: string;
  opsUrl: string;
}

export interface ImageWorld {
  servers: [Service, Service];
  worker: Service;
  wallet: { liveKey: string; managementKey: string };
  /** The admin command in a container of its own; what it prints. */
  runAdmin: Run;
}

const confined = "--network=host --read-only --cap-drop=ALL --security-opt=no-new-privileges";

/** `atEnd` is told at once how to undo each step, so that a start that fails half-way leaves nothing behind. */
export async function startImageWorld(
  containers: Containers,
  atEnd: (undo: () => Promise<void>) => void,
): Promise<ImageWorld> {
  const { podman } = containers;
  const upstream = await startHostileUpstream();
  atEnd(() => upstream.close());
  await upstream.behave("slow_headers", { everyMs: 30 });
  const database = `pb_image_${randomBytes(4).toString("hex")}`;
  atEnd(() => dropDatabase(database));
  const removeContainers = async (): Promise<void> => {
    await podman("rm", "--force", "--all", "--time", "0");
  };
  // A run that was killed leaves its containers, which have the same names.
  await removeContainers();
  atEnd(removeContainers);
  const settings = makeSettings(database, upstream.url);
  const runAdmin = (...words: string[]): Promise<string> =>
    podman(...runWords(settings), "--rm", imageName, "server/src/admin/main.ts", ...words);
  await runAdmin("database", "setup");
  const made = await runAdmin("wallet", "create", "--name", "image", "--balance", "50.00", "--json");
  const one = await startService(containers, settings, "one");
  const two = await startService(containers, settings, "two");
  const worker = await startService(containers, settings, "worker", "server/src/jobs/main.ts");
  return { servers: [one, two], worker, wallet: JSON.parse(made) as ImageWorld["wallet"], runAdmin };
}

function makeSettings(database: string, upstreamUrl: string): Record<string, string> {
  const at = new URL(superuserUrl);
  at.pathname = `/${database}`;
  return {
    PENNYBLACK_ADMIN_DATABASE_URL: superuserUrl,
    PENNYBLACK_DIRECT_DATABASE_URL: withRole(at.href, "owner"),
    DATABASE_URL: withRole(at.href, "ledger"),
    PENNYBLACK_TENANT_DATABASE_URL: withRole(at.href, "tenant"),
    PENNYBLACK_OPERATOR_DATABASE_URL: withRole(at.href, "operator"),
    PENNYBLACK_PEOPLE_DATABASE_URL: withRole(at.href, "people"),
    PENNYBLACK_SECRET: randomBytes(32).toString("base64"),
    PENNYBLACK_KEY_PEPPERS: `1:${randomBytes(32).toString("base64")}`,
    PENNYBLACK_SEARXNG_URL: upstreamUrl,
    PENNYBLACK_DRAIN_MS: "2000",
    PENNYBLACK_OPS_HOST: "127.0.0.1",
    HOST: "127.0.0.1",
  };
}

function runWords(settings: Record<string, string>): string[] {
  const variables = Object.entries(settings).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  return ["run", ...confined.split(" "), ...variables];
}

/** Started, and healthy by the image's own health check. */
async function startService(
  { podman, call }: Containers,
  settings: Record<string, string>,
  name: string,
  ...command: string[]
): Promise<Service> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = { PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
  await podman(...runWords({ ...settings, ...listeners }), "--detach", "--name", name, imageName, ...command);
  await until(
    `${name} is healthy`,
    async () => {
      if ((await podman("inspect", "--format", "{{.State.Running}}", name)) !== "true") {
        throw new Error(`${name} ended:\n${await call("sh", ["-c", `podman logs ${name} 2>&1`])}`);
      }
      return isHealthy(podman, name);
    },
    90_000,
  );
  return { name, url: `http://127.0.0.1:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` };
}

export async function isHealthy(podman: Run, name: string): Promise<boolean> {
  return podman("healthcheck", "run", name).then(
    () => true,
    () => false,
  );
}

async function dropDatabase(name: string): Promise<void> {
  const pool = createPool({ url: superuserUrl, name: "image", connections: 1, onIdleError: () => {} });
  await pool.query(`drop database if exists ${name} with (force)`);
  await pool.end();
}
