import { callbackify } from "node:util";
import pg from "pg";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { createFence, type DatabaseIdentity, type Fence, readIdentity, readReplicaIdentity } from "./fence.ts";

// A database with replicas has several hosts, and the primary changes on failover, which the driver does not support. Before
// connecting, all hosts are queried: a host in recovery is a replica. Of two hosts that are not, the one on the later
// timeline was promoted after the other, which must no longer be used. While that one is down, a replica
// still knows its timeline, which is why half of the hosts must respond. Every connection is checked by the fence.

/** No host is a primary, for example during a failover. */
export class NoPrimary extends Error {}

/** The URL of the current primary. A single host is not queried. */
export async function findPrimary(url: string, fence: Fence = createFence()): Promise<string> {
  const urls = spreadHosts(url);
  const [only, ...others] = urls;
  if (only !== undefined && others.length === 0) return only;
  const hosts = await queryHosts(urls, fence.latest?.timeline ?? Number.POSITIVE_INFINITY);
  const [primary] = hosts.filter(isPrimary).toSorted((left, right) => right.identity.timeline - left.identity.timeline);
  if (!primary) throw new NoPrimary(`none of ${urls.length} database hosts is a reachable primary`);
  const responding = hosts.filter(hasResponded).length;
  if (responding < neededOf(urls))
    throw new NoPrimary(
      `only ${responding} of ${urls.length} database hosts responds, and ${neededOf(urls)} must, so that an old primary is not used`,
    );
  for (const { role, identity } of hosts)
    if (role === "replica" && identity?.systemIdentifier === primary.identity.systemIdentifier) fence.learn(identity);
  fence.pass(primary.identity);
  return primary.url;
}

/** The number of hosts that accept writes. With two, one is an old primary. */
export async function countPrimaries(url: string): Promise<number> {
  const hosts = await Promise.all(spreadHosts(url).map(queryHost));
  return hosts.filter(isPrimary).length;
}

/** With one synchronous replica, two of three hosts have every acknowledged transaction, so any two include one of them. */
function neededOf(urls: readonly string[]): number {
  return Math.ceil(urls.length / 2);
}

/** All hosts, or those that have responded as soon as enough have and one is on a later timeline than the known one. */
function queryHosts(urls: readonly string[], knownTimeline: number): Promise<Host[]> {
  const hosts: Host[] = [];
  const queries = urls.map(async (url) => {
    hosts.push(await queryHost(url));
    // A host that was just promoted: do not wait for the previous primary, which may not respond.
    const isPromoted = hosts.some((host) => isPrimary(host) && host.identity.timeline > knownTimeline);
    if (!isPromoted || hosts.filter(hasResponded).length < neededOf(urls)) throw new Error("not enough");
  });
  return Promise.any(queries).then(
    () => [...hosts],
    () => hosts,
  );
}

/** Callers within this time share a result: a server that lost its connections reopens all of them at once. */
const sharedMs = 100;

/** A client that finds the primary each time it connects, and connects to no other. */
export function clientOfPrimary(url: string, fence: Fence): new (config?: pg.ClientConfig) => pg.Client {
  let shared: { primary: Promise<string>; until: number } | undefined;

  function findShared(): Promise<string> {
    if (shared && shared.until > performance.now()) return shared.primary;
    const primary = findPrimary(url, fence);
    shared = { primary, until: performance.now() + sharedMs };
    return primary;
  }

  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: spreadHosts(url)[0] });
      // The pool listens only once connected. An "error" event during the query below would end the process; the query
      // rejects as well.
      this.on("error", () => undefined);
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = this.#connectToPrimary();
      if (!callback) return connected;
      callbackify(() => connected)(callback);
      return undefined;
    }

    async #connectToPrimary(): Promise<pg.Client> {
      const { host, port } = new pg.Client({ connectionString: await findShared() });
      Object.assign(this, { host, port });
      await super.connect();
      try {
        const identity = await readIdentity(this);
        if (identity) fence.pass(identity);
      } catch (error) {
        this.end().catch(() => undefined);
        throw error;
      }
      return this;
    }
  };
}

interface Host {
  url: string;
  role: "primary" | "replica" | "unreachable";
  /** Of a replica, the latest timeline that it knows of. */
  identity?: DatabaseIdentity | undefined;
}

function isPrimary(host: Host): host is Host & { identity: DatabaseIdentity } {
  return host.role === "primary";
}

function hasResponded({ role }: Host): boolean {
  return role !== "unreachable";
}

const timeoutMs = 1_000;

async function queryHost(url: string): Promise<Host> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "pennyblack find primary",
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  // An "error" event without a listener would end the process. The query rejects as well.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const identity = await readIdentity(client);
    if (identity) return { url, role: "primary", identity };
    return { url, role: "replica", identity: await readReplicaIdentity(client) };
  } catch {
    return { url, role: "unreachable" };
  } finally {
    client.end().catch(() => undefined);
  }
}
