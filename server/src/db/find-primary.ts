import { callbackify } from "node:util";
import pg from "pg";
import { spreadHosts } from "../lib/spread-hosts.ts";

// A database with a replica has two hosts, and which of them is the primary changes when one dies. The driver knows
// nothing of that. So whoever needs a connection asks all hosts: one that is in recovery is a replica; of two that are
// not, the one on the later timeline was promoted after the other, which must not be served from any more.

/** The address of the host that is the primary now. A single host is taken at its word. */
export async function findPrimary(url: string): Promise<string> {
  const urls = spreadHosts(url);
  const [only, ...others] = urls;
  if (only !== undefined && others.length === 0) return only;
  const primary = await firstOf(urls.map(askHost), latestTimelines.get(url) ?? Number.POSITIVE_INFINITY);
  if (primary.timeline === 0) throw new Error(`none of ${urls.length} database hosts is a primary that can be reached`);
  latestTimelines.set(url, primary.timeline);
  return primary.url;
}

/** The host on the latest timeline, as soon as that is known. */
function firstOf(asked: Promise<Host>[], knownTimeline: number): Promise<Host> {
  return Promise.any([
    // Promoted since we last looked: nobody needs to wait for the host that was before it and may be silent.
    ...asked.map(async (answer) => {
      const host = await answer;
      if (host.timeline <= knownTimeline) throw new Error("not news");
      return host;
    }),
    Promise.all(asked).then((hosts) => hosts.reduce((best, host) => (host.timeline > best.timeline ? host : best))),
  ]);
}

const latestTimelines = new Map<string, number>();

/** Those who ask within this time share an answer: a server that lost its connections makes them all anew at once. */
const sharedMs = 100;

/** The driver's client for an address with several hosts: it finds out where to connect when it does. */
export function clientOfPrimary(url: string): new (config?: pg.ClientConfig) => pg.Client {
  let answer: { primary: Promise<string>; until: number } | undefined;

  function askTogether(): Promise<string> {
    if (answer && answer.until > performance.now()) return answer.primary;
    const primary = findPrimary(url);
    answer = { primary, until: performance.now() + sharedMs };
    return primary;
  }

  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: spreadHosts(url)[0] });
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connected = askTogether().then((primary) => {
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
  /** 0 for a replica, and for one that did not answer. */
  timeline: number;
}

const patienceMs = 1_000;

async function askHost(url: string): Promise<Host> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "pennyblack asks who is primary",
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
  });
  // The query is told as well, which is where it matters.
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
