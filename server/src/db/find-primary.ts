import { callbackify } from "node:util";
import pg from "pg";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { createFence, type DatabaseIdentity, type Fence, identityQuery, parseIdentity } from "./fence.ts";

// A database with replicas has several hosts, and the primary changes on failover, which the driver does not support. Before
// connecting, all hosts are queried: a host in recovery is a replica. Of two hosts that are not, the one on the later
// timeline was promoted after the other, which must no longer be used. Every connection is checked by the fence.

/** The URL of the current primary. A single host is not queried. */
export async function findPrimary(url: string, fence: Fence = createFence()): Promise<string> {
  const urls = spreadHosts(url);
  const [only, ...others] = urls;
  if (only !== undefined && others.length === 0) return only;
  const primary = await findLatest(urls.map(queryHost), fence.latest?.timeline ?? Number.POSITIVE_INFINITY);
  if (!primary.identity) throw new Error(`none of ${urls.length} database hosts is a reachable primary`);
  fence.pass(primary.identity);
  return primary.url;
}

/** The host on the latest timeline, as soon as it is known. */
function findLatest(queries: Promise<Host>[], knownTimeline: number): Promise<Host> {
  return Promise.any([
    // A host on a new timeline was just promoted: do not wait for the previous primary, which may not respond.
    ...queries.map(async (query) => {
      const host = await query;
      if (timelineOf(host) <= knownTimeline) throw new Error("not a new timeline");
      return host;
    }),
    Promise.all(queries).then((hosts) =>
      hosts.reduce((best, host) => (timelineOf(host) > timelineOf(best) ? host : best)),
    ),
  ]);
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
        const { rows } = await this.query<{ identity: string | null }>(identityQuery);
        const identity = parseIdentity(rows[0]?.identity);
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
  /** Undefined for a replica or a host that did not respond. */
  identity: DatabaseIdentity | undefined;
}

function timelineOf({ identity }: Host): number {
  return identity?.timeline ?? 0;
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
    const { rows } = await client.query<{ identity: string | null }>(identityQuery);
    return { url, identity: parseIdentity(rows[0]?.identity) };
  } catch {
    return { url, identity: undefined };
  } finally {
    client.end().catch(() => undefined);
  }
}
