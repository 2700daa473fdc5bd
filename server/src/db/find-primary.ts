import { callbackify } from "node:util";
import pg from "pg";
import { spreadHosts } from "../lib/spread-hosts.ts";
import {
  againIfOutdated,
  checkIdentity,
  createFence,
  type Fence,
  type HostIdentity,
  missingFrom,
  RefusedDatabase,
  readIdentity,
} from "./fence.ts";

// A database with replicas has several hosts, and the primary changes on failover, which the driver does not support. Before
// connecting, all hosts are queried: a host in recovery is a replica. Of two hosts that are not, the one on the later
// timeline was promoted after the other, which must no longer be used. While that one is down, a replica
// still has its history, which is why half of the hosts must respond, and none may have a history that the primary lacks.
// Every connection is checked by the fence.
//
// A replica may not know of a promotion after which nothing was written. So a server that has just started, and has learned
// nothing from the others, uses only a primary that replicas follow: with it, half of the hosts. An old primary has none.

/** No host is a primary, for example during a failover. */
export class NoPrimary extends Error {}

/** The URL of the current primary. A single host is not queried. */
export async function findPrimary(url: string, fence?: Fence): Promise<string> {
  const urls = spreadHosts(url);
  const [only, ...others] = urls;
  if (only !== undefined && others.length === 0) return only;
  return againIfOutdated(fence, () => choosePrimary(urls, fence));
}

async function choosePrimary(urls: readonly string[], fence: Fence | undefined): Promise<string> {
  const hosts = await queryHosts(urls, fence?.latest?.timeline ?? Number.POSITIVE_INFINITY);
  const [primary] = hosts.filter(isPrimary).toSorted(byHistory);
  if (!primary) throw new NoPrimary(`none of ${urls.length} database hosts is a reachable primary`);
  const responding = hosts.filter(hasResponded).length;
  if (responding < neededOf(urls))
    throw new NoPrimary(
      `only ${responding} of ${urls.length} database hosts responds, and ${neededOf(urls)} must, so that an old primary is not used`,
    );
  const { systemIdentifier } = primary.identity;
  const related = hosts.filter(hasResponded).filter(({ identity }) => identity.systemIdentifier === systemIdentifier);
  // Only the number of a timeline is remembered: a token on another host need not have been acknowledged.
  const known = fence?.latest ? fence : createFence();
  for (const { identity } of related)
    if (identity.isReplica) known.learn({ systemIdentifier, timeline: identity.timeline, history: [] });
  known.pass(primary.identity);
  await requireOneHistory(primary, related);
  if (fence && !fence.latest) {
    if (primary.identity.replicas + 1 < neededOf(urls))
      throw new NoPrimary(
        `no replica is connected to ${nameOf(primary)}, so it may be an old primary, and this process has not seen another`,
      );
    fence.pass(primary.identity);
  }
  return primary.url;
}

type RespondingHost = Host & { identity: HostIdentity };

/** The latest timeline first, and of two with the same number, the one on which money was moved. */
function byHistory({ identity: left }: RespondingHost, { identity: right }: RespondingHost): number {
  return right.timeline - left.timeline || right.history.length - left.history.length;
}

/** Two hosts with different histories were both primaries, and only an operator can decide which one to use. */
async function requireOneHistory(primary: RespondingHost, hosts: readonly RespondingHost[]): Promise<void> {
  const findOther = (history: readonly string[]): RespondingHost | undefined =>
    hosts.find(({ identity }) => missingFrom(history, identity.history) !== undefined);
  if (!findOther(primary.identity.history)) return;
  // The others may have responded after it.
  const { identity = primary.identity } = await queryHost(primary.url);
  const other = findOther(identity.history);
  if (!other) return;
  throw new RefusedDatabase(
    `Money was moved on timeline ${missingFrom(identity.history, other.identity.history)}, which ${nameOf(other)} has and the primary ${nameOf(primary)} lacks. Neither is used. See docs/runbooks/two-primaries.md`,
  );
}

function roleOf({ identity }: Host): HostState["role"] {
  if (!identity) return "unreachable";
  return identity.isReplica ? "replica" : "primary";
}

function nameOf({ url }: Host): string {
  return new URL(url).host;
}

export interface HostState {
  /** Host and port. */
  name: string;
  role: "primary" | "replica" | "unreachable";
  timeline: number | undefined;
  /** A timeline on which money was moved that this host has and the primary lacks. */
  diverged: string | undefined;
}

/** For operators: the hosts that accept writes, and those with a history that the primary lacks. */
export async function readHosts(url: string): Promise<HostState[]> {
  const hosts = await Promise.all(spreadHosts(url).map(queryHost));
  const [primary] = hosts.filter(isPrimary).toSorted(byHistory);
  return hosts.map((host) => ({
    name: nameOf(host),
    role: roleOf(host),
    timeline: host.identity?.timeline,
    diverged: primary && host.identity && missingFrom(primary.identity.history, host.identity.history),
  }));
}

/** With one synchronous replica, two of three hosts have every acknowledged transaction, so any two hosts include one of these. */
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
        await checkIdentity(this, fence);
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
  /** Undefined if it did not respond. */
  identity?: HostIdentity;
}

function isPrimary(host: Host): host is RespondingHost {
  return host.identity?.isReplica === false;
}

function hasResponded(host: Host): host is RespondingHost {
  return host.identity !== undefined;
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
    return { url, identity: await readIdentity(client) };
  } catch {
    return { url };
  } finally {
    client.end().catch(() => undefined);
  }
}
