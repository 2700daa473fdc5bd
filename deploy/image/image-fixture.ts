import { randomBytes } from "node:crypto";
import { createPool } from "../../server/src/db/pool.ts";
import { withRole } from "../../server/src/db/roles.ts";
import { choosePort } from "../../server/src/dev/choose-port.ts";
import { until } from "../../server/test/support/assertions/until.ts";
import { superuserUrl } from "../../server/test/support/services/database.ts";
import { startHostileUpstream } from "../../server/test/support/upstreams/hostile-upstream.ts";
import { imageName } from "./build-image.ts";
import type { Containers, Run } from "./containers.ts";

// Runs the image like an operator would: migrations, two servers and a worker, not as root and with a read-only file
// system. They use the host network, and with it the test PostgreSQL.

export interface Service {
  name: string;
  url: string;
  opsUrl: string;
}

export interface ImageFixture {
  servers: [Service, Service];
  worker: Service;
  wallet: { liveKey: string; managementKey: string };
  /** Runs the admin command in a new container and returns its output. */
  runAdmin: Run;
}

const sandboxFlags = "--network=host --read-only --cap-drop=ALL --security-opt=no-new-privileges";

/** Registers a cleanup for each step with `addCleanup`, so that a failed start leaves nothing behind. */
export async function startImageFixture(
  containers: Containers,
  addCleanup: (cleanup: () => Promise<void>) => void,
): Promise<ImageFixture> {
  const { podman } = containers;
  const upstream = await startHostileUpstream();
  addCleanup(() => upstream.close());
  await upstream.behave("slow_headers", { everyMs: 30 });
  const database = `pb_image_${randomBytes(4).toString("hex")}`;
  addCleanup(() => dropDatabase(database));
  const removeContainers = async (): Promise<void> => {
    await podman("rm", "--force", "--all", "--time", "0");
  };
  // A killed run may have left containers with the same names.
  await removeContainers();
  addCleanup(removeContainers);
  const settings = makeSettings(database, upstream.url);
  const runAdmin = (...args: string[]): Promise<string> =>
    podman(...runArgs(settings), "--rm", imageName, "server/src/admin/main.ts", ...args);
  await runAdmin("database", "setup");
  const wallet = await runAdmin("wallet", "create", "--name", "image", "--balance", "50.00", "--json");
  const one = await startService(containers, settings, "one");
  const two = await startService(containers, settings, "two");
  const worker = await startService(containers, settings, "worker", "server/src/jobs/main.ts");
  return { servers: [one, two], worker, wallet: JSON.parse(wallet) as ImageFixture["wallet"], runAdmin };
}

function makeSettings(database: string, upstreamUrl: string): Record<string, string> {
  const databaseUrl = new URL(superuserUrl);
  databaseUrl.pathname = `/${database}`;
  return {
    PENNYBLACK_ADMIN_DATABASE_URL: superuserUrl,
    PENNYBLACK_DIRECT_DATABASE_URL: withRole(databaseUrl.href, "owner"),
    DATABASE_URL: withRole(databaseUrl.href, "ledger"),
    PENNYBLACK_TENANT_DATABASE_URL: withRole(databaseUrl.href, "tenant"),
    PENNYBLACK_WORKER_DATABASE_URL: withRole(databaseUrl.href, "worker"),
    PENNYBLACK_PAYMENTS_DATABASE_URL: withRole(databaseUrl.href, "payments"),
    PENNYBLACK_OPERATOR_DATABASE_URL: withRole(databaseUrl.href, "operator"),
    PENNYBLACK_PEOPLE_DATABASE_URL: withRole(databaseUrl.href, "people"),
    PENNYBLACK_SECRET: randomBytes(32).toString("base64"),
    PENNYBLACK_KEY_PEPPERS: `1:${randomBytes(32).toString("base64")}`,
    PENNYBLACK_SEARXNG_URL: upstreamUrl,
    PENNYBLACK_OPS_HOST: "127.0.0.1",
    HOST: "127.0.0.1",
  };
}

function runArgs(settings: Record<string, string>): string[] {
  const variables = Object.entries(settings).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  return ["run", ...sandboxFlags.split(" "), ...variables];
}

/** Starts a container and waits until the image's health check passes. */
async function startService(
  { podman, call }: Containers,
  settings: Record<string, string>,
  name: string,
  ...command: string[]
): Promise<Service> {
  const [port, opsPort] = [await choosePort({ host: "127.0.0.1" }), await choosePort({ host: "127.0.0.1" })];
  const listeners = { PORT: String(port), PENNYBLACK_OPS_PORT: String(opsPort) };
  await podman(...runArgs({ ...settings, ...listeners }), "--detach", "--name", name, imageName, ...command);
  await until(
    `${name} is healthy`,
    async () => {
      if ((await podman("inspect", "--format", "{{.State.Running}}", name)) !== "true") {
        throw new Error(`${name} exited:\n${await call("sh", ["-c", `podman logs ${name} 2>&1`])}`);
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
