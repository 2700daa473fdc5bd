import { callbackify } from "node:util";
import pg from "pg";
import { spreadHosts } from "../lib/spread-hosts.ts";

// A database with a replica has two hosts, and the primary changes on failover, which the driver does not support. Before
// connecting, all hosts are queried: a host in recovery is a replica. Of two hosts that are not, the one on the later
// timeline was promoted after the other, which must no longer be used.

/** The URL of the current primary. A single host is not queried. */
export async function findPrimary(url: string): Promise<string> {
  const urls = spreadHosts(url);
  const [only, ...others] = urls;
  if (only !== undefined && others.length === 0) return only;
  const primary = await findLatest(urls.map(queryHost), latestTimelines.get(url) ?? Number.POSITIVE_INFINITY);
  if (primary.timeline === 0) throw new Error(`none of ${urls.length} database hosts is a reachable primary`);
  latestTimelines.set(url, primary.timeline);
  return primary.url;
}

/** The host on the latest timeline, as soon as it is known. */
function findLatest(queries: Promise<Host>[], knownTimeline: number): Promise<Host> {
  return Promise.any([
    // A host on a new timeline was just promoted: do not wait for the previous primary, which may not respond.
    ...queries.map(async (query) => {
      const host = await query;
      if (host.timeline <= knownTimeline) throw new Error("not a new timeline");
      return host;
    }),
    Promise.all(queries).then((hosts) => hosts.reduce((best, host) => (host.timeline > best.timeline ? host : best))),
  ]);
}

const latestTimelines = new Map<string, number>();

/** Callers within this time share a result: a server that lost its connections reopens all of them at once. */
const sharedMs = 100;

/** A client for a URL with several hosts. It finds the primary each time it connects. */
export function clientOfPrimary(url: string): new (config?: pg.ClientConfig) => pg.Client {
  let shared: { primary: Promise<string>; until: number } | undefined;

  function findShared(): Promise<string> {
    if (shared && shared.until > performance.now()) return shared.primary;
    const primary = findPrimary(url);
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
      const connected = findShared().then((primary) => {
        const { host, port } = new pg.Client({ connectionString: primary });
        Object.assign(this, { host, port });
        return super.connect();
      });
      if (!callback) return connected;
      callbackify(() => connected)(callback);
      return undefined;
    }
  };
}

interface Host {
  url: string;
  /** 0 for a replica or a host that did not respond. */
  timeline: number;
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
    const { rows } = await client.query<{ timeline: string | null }>(
      "select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline",
    );
    return { url, timeline: Number.parseInt(rows[0]?.timeline ?? "0", 16) };
  } catch {
    return { url, timeline: 0 };
  } finally {
    client.end().catch(() => undefined);
  }
}
