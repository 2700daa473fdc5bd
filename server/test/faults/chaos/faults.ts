import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import type { Node } from "../../support/patroni/patroni-cluster.ts";
import { backEndsOf } from "../../support/services/private-postgres.ts";
import { sendSignal } from "../../support/services/send-signal.ts";
import type { BehaviourName, BehaviourOptions } from "../../support/upstreams/hostile-upstream.ts";
import type { Random } from "../random.ts";
import { walletStatements } from "../wallet-statements.ts";
import type { ChaosCluster, ChaosServer } from "./chaos-cluster.ts";

// The faults that are injected. Each kind belongs to a lane. A lane injects one fault at a time, and the lanes run in
// parallel, so that a server can be killed together with its database.

export interface FaultContext {
  cluster: ChaosCluster;
  random: Random;
  /** The lifetime of a hold in this run. */
  holdLifetimeMs: number;
  /** Counts effects of a fault separately, such as kills. */
  count: (name: string) => void;
  signal: AbortSignal;
}

/** Returned by a fault that had no target. It is not counted. */
export const noTarget = "no target";

/** Injects the fault and undoes it. Returns a description for the history of a violation. */
export type Fault = (context: FaultContext) => Promise<string>;

export const lanes: Record<string, Record<string, Fault>> = {
  killers: {
    server_killed: async (context) => {
      const [server] = takeServers(context, 1);
      if (!server) return noTarget;
      context.count("kills");
      server.process.signal("SIGKILL");
      await returnServer(context, server);
      return `server ${server.index}`;
    },
  },
  servers: {
    server_killed_twice: async (context) => {
      const servers = takeServers(context, 2);
      for (const server of servers) {
        context.count("kills");
        server.process.signal("SIGKILL");
      }
      for (const server of servers) await returnServer(context, server);
      return `servers ${servers.map(({ index }) => index).join(" and ")}`;
    },
    worker_killed: async ({ cluster, count }) => {
      count("kills");
      cluster.worker.signal("SIGKILL");
      return "worker";
    },
    rolling_restart: async (context) => {
      const servers = takeServers(context, 3);
      for (const server of servers) {
        server.process.signal("SIGTERM");
        // While it drains it still reports ready, so wait until it has stopped.
        await wait(1_500);
        await returnServer(context, server);
      }
      return `servers ${servers.map(({ index }) => index).join(", ")}`;
    },
    clock_jump: async (context) => {
      const offset = context.random.pick(["+5h", "-5h", "+50s", "-50s", "+25h", "-25h"]);
      context.cluster.setClock?.(offset);
      await pause(context, 4_000);
      context.cluster.setClock?.("+0");
      await wait(1_200);
      return offset;
    },
  },
  pauses: {
    server_paused: async (context) => {
      const [server] = takeServers(context, 1);
      if (!server) return noTarget;
      server.process.signal("SIGSTOP");
      await pause(context, context.holdLifetimeMs + 5_000);
      server.process.signal("SIGCONT");
      await returnServer(context, server);
      return `server ${server.index}`;
    },
  },
  network: {
    cut_before_commit: (context) => breakConnection(context, "cutRequest"),
    cut_after_commit: (context) => breakConnection(context, "cutAnswer"),
    silent_before_commit: (context) => breakConnection(context, "swallowRequest"),
    silent_after_commit: (context) => breakConnection(context, "swallowAnswer"),
    all_connections_cut: async ({ cluster, random }) => {
      const server = random.pick(cluster.servers);
      for (const { wire } of server.wires) wire.cut();
      return `server ${server.index}`;
    },
    packets_lost: async (context) => {
      const server = context.random.pick(context.cluster.servers);
      for (const { wire } of server.wires) wire.blackhole(true);
      await pause(context, context.random.integer(200, 2_500));
      for (const { wire } of server.wires) {
        wire.blackhole(false);
        wire.cut();
      }
      return `server ${server.index}`;
    },
  },
  dependencies: {
    redis_stopped: async (context) => {
      context.cluster.redis.signal("SIGSTOP");
      await pause(context, 2_000);
      context.cluster.redis.signal("SIGCONT");
      return "";
    },
    redis_killed: async ({ cluster, count }) => {
      count("kills");
      cluster.redis.signal("SIGKILL");
      return "";
    },
    haproxy_killed: async ({ cluster, count }) => {
      count("kills");
      cluster.haproxy.signal("SIGKILL");
      return "";
    },
    redis_wiped: async ({ cluster }) => {
      await sendToRedis(cluster.redisPort, "FLUSHALL");
      return "";
    },
    redis_slow: async (context) => {
      for (let round = 0; round < 20; round += 1) {
        context.cluster.redisWire.pause();
        await wait(context.random.integer(10, 120));
        context.cluster.redisWire.resume();
        await wait(20);
      }
      return "";
    },
    upstream_fault: upstreamFault,
    other_upstream_fault: otherUpstreamFault,
    both_upstreams_fault: async (context) =>
      (await Promise.all([upstreamFault(context), otherUpstreamFault(context)])).join(", "),
  },
  database: {
    back_end_killed: onPrimary(async (primary, { random, count }) => {
      const name = random.pick(["pennyblack ledger", "pennyblack tenant", "pennyblack worker"]);
      const backEnds = await backEndsOf(primary.url, name).catch(() => []);
      if (!backEnds.some((pid) => sendSignal(pid, "SIGKILL"))) return noTarget;
      count("kills");
      return name;
    }),
    /** Patroni promotes another node, or starts this one again if it has just been promoted and no other may follow it. */
    postgres_killed: onPrimary(async (primary, context) => {
      killPostgres(primary, context);
      return "";
    }),
    replica_killed: onPrimary(async (primary, context) => {
      const replica = context.random.pick(context.cluster.database.replicasOf(primary));
      killPostgres(replica, context);
      return replica.name;
    }),
    /** PostgreSQL continues without Patroni, until another node is promoted and after that. */
    agent_paused: onPrimary(async (primary, context) => {
      const { database } = context.cluster;
      database.network.signal(primary, "SIGSTOP", "patroni");
      await database.findReplacement(primary);
      await pause(context, context.random.integer(0, 3_000));
      database.network.signal(primary, "SIGCONT", "patroni");
      return "";
    }),
    agent_killed: onPrimary(async (primary, context) => {
      context.count("kills");
      await primary.agent.stop("SIGKILL");
      await context.cluster.database.findReplacement(primary);
      await pause(context, context.random.integer(0, 3_000));
      primary.agent.start();
      return "";
    }),
    agent_restarted: onPrimary(async (primary, { count }) => {
      count("kills");
      primary.agent.signal("SIGKILL");
      return "";
    }),
    node_lost: onPrimary(async (primary, context) => {
      const { database } = context.cluster;
      context.count("kills");
      await database.loseNode(primary);
      await database.findReplacement(primary);
      database.startNode(primary);
      return "";
    }),
    /**
     * The old primary returns without Patroni and without synchronous commit, as after an operator's mistake, while the new
     * one restarts. It accepts writes and acknowledges them: only the timeline keeps servers away from it.
     */
    old_primary_returns: onPrimary(async (old, context) => {
      const { database } = context.cluster;
      context.count("kills");
      await database.loseNode(old);
      const next = await database.findReplacement(old);
      if (!next) {
        database.startNode(old);
        return "and no other";
      }
      database.network.reconnect(old);
      const stop = await database.startAlone(old);
      killPostgres(next, context);
      await pause(context, 5_000);
      await stop();
      database.startNode(old);
      return `and ${next.name}`;
    }),
    etcd_member_killed: async ({ cluster, random, count }) => {
      const node = random.pick(cluster.database.nodes);
      count("kills");
      node.etcd.signal("SIGKILL");
      return `${node.name}, ${await cluster.database.heal()}`;
    },
    etcd_quorum_lost: async (context) => {
      const { cluster, random, count } = context;
      const lost = random.shuffle(cluster.database.nodes).slice(0, 2);
      count("kills");
      await Promise.all(lost.map(({ etcd }) => etcd.stop("SIGKILL")));
      await pause(context, random.integer(3_000, 12_000));
      for (const { etcd } of lost) etcd.start();
      return `${lost.map(({ name }) => name).join(" and ")}, ${await cluster.database.heal()}`;
    },
    /** Neither servers nor other nodes reach the primary. */
    primary_disconnected: cutOffPrimary("disconnect"),
    /** Servers reach both sides of the partition. */
    primary_separated: cutOffPrimary("separate"),
    replica_separated: onPrimary(async (primary, context) => {
      const { database } = context.cluster;
      const replica = context.random.pick(database.replicasOf(primary));
      database.network.separate(replica);
      await pause(context, context.random.integer(2_000, 8_000));
      database.network.reconnect(replica);
      return replica.name;
    }),
    switchover: onPrimary(async (primary, { cluster }) => {
      await cluster.database.switchOver(primary);
      return "";
    }),
    disk_full: onPrimary(async (primary, context) => {
      const ballast = join(primary.folder, "ballast");
      const mib = fillDisk(ballast);
      await pause(context, context.random.integer(1_000, 4_000));
      rmSync(ballast);
      return `${mib} MiB`;
    }),
  },
};

/** Afterwards waits until the cluster has recovered by itself. */
function onPrimary(run: (primary: Node, context: FaultContext) => Promise<string>): Fault {
  return async (context) => {
    const { database } = context.cluster;
    const primary = await database.findPrimary();
    if (!primary) return noTarget;
    const detail = await run(primary, context);
    return detail === noTarget ? noTarget : `${primary.name} ${detail}, ${await database.heal()}`;
  };
}

function killPostgres(node: Node, { cluster, count }: FaultContext): void {
  count("kills");
  cluster.database.killPostgres(node);
}

/** Makes the primary unreachable until another node is promoted, unless none may be, and some time longer. */
function cutOffPrimary(how: "disconnect" | "separate"): Fault {
  return onPrimary(async (primary, context) => {
    const { database } = context.cluster;
    database.network[how](primary);
    await database.findReplacement(primary);
    await pause(context, context.random.integer(0, 3_000));
    database.network.reconnect(primary);
    return "";
  });
}

/** Kinds that cannot run on this machine, with the reason. */
export function skippedKinds(cluster: ChaosCluster): Record<string, string> {
  return {
    ...(cluster.setClock ? {} : { clock_jump: "libfaketime is not installed and cannot be" }),
    ...(cluster.database.noDiskReason ? { disk_full: cluster.database.noDiskReason } : {}),
  };
}

/** Up to `max` servers that no other fault uses. */
function takeServers({ cluster, random }: FaultContext, max: number): ChaosServer[] {
  const taken = random.shuffle(cluster.servers.filter((server) => !server.isBusy)).slice(0, max);
  for (const server of taken) server.isBusy = true;
  return taken;
}

/**
 * Waits until the server is ready. It cannot be while one fault of the database follows another, so a server that is not ready
 * counts only after the last fault.
 */
async function returnServer({ cluster, signal }: FaultContext, server: ChaosServer): Promise<void> {
  const isReturned = async (): Promise<boolean> => signal.aborted || (await cluster.isReady(server));
  await until(`server ${server.index} is ready`, isReturned, 90_000).catch(() => undefined);
  server.isBusy = false;
}

type BreakKind = "cutRequest" | "cutAnswer" | "swallowRequest" | "swallowAnswer";

async function breakConnection(context: FaultContext, how: BreakKind): Promise<string> {
  const { cluster, random, count } = context;
  const verb = random.pick(["hold", "hold", "capture", "capture", "release"] as const);
  const server = random.pick(cluster.servers);
  const primary = await cluster.database.findPrimary();
  const wire = server.wires.find(({ node }) => node === undefined || node === primary)?.wire;
  if (!wire) return noTarget;
  const hit = wire[how](walletStatements[verb]).then(() => count(`${how} ${verb}`));
  await Promise.race([hit, pause(context, 3_000)]);
  return `server ${server.index} ${verb}`;
}

const upstreamFaults: [BehaviourName, BehaviourOptions?][] = [
  ["status_503"],
  ["status_500"],
  ["status_429", { headers: { "retry-after": "1" } }],
  ["status_404"],
  ["wrong_types"],
  ["wrong_content_type"],
  ["no_bytes"],
  ["slow_drip"],
  ["stall_in_body"],
  ["reset_before_headers"],
  ["reset_on_reused_socket"],
  ["refused"],
  ["hang_up_on_accept"],
  ["slow_headers", { everyMs: 1_500 }],
  ["redirect"],
  ["second_answer"],
];

/** The behaviour without faults. Few results, because the run tests charging and not ranking. */
export const healthyUpstream = ["slow_headers", { everyMs: 15, hits: 2 }] as const;

async function upstreamFault(context: FaultContext): Promise<string> {
  const [name, options] = context.random.pick(upstreamFaults);
  await context.cluster.upstream.behave(name, options);
  context.count(`upstream ${name}`);
  await pause(context, context.random.integer(300, 1_500));
  await context.cluster.upstream.behave(...healthyUpstream);
  return name;
}

async function otherUpstreamFault(context: FaultContext): Promise<string> {
  const name = context.random.pick(["throttled", "down", "malformed", "invalid-shape", "empty-account", "empty"]);
  context.cluster.otherUpstream.serve("brave", name);
  context.count(`other upstream ${name}`);
  await pause(context, context.random.integer(300, 1_500));
  context.cluster.otherUpstream.serve("brave", "ok");
  return name;
}

async function pause({ signal }: FaultContext, ms: number): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}

/** Returns the number of MiB written. */
function fillDisk(file: string): number {
  const descriptor = openSync(file, "w");
  const chunk = Buffer.alloc(1 << 20, 1);
  let mib = 0;
  try {
    for (;;) {
      if (writeSync(descriptor, chunk) < chunk.length) break;
      mib += 1;
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    closeSync(descriptor);
  }
  return mib;
}

function sendToRedis(port: number, command: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(`${command}\r\nQUIT\r\n`));
    socket.resume();
    // Redis may be stopped or killed at this moment.
    socket.once("error", () => resolve());
    socket.once("close", () => resolve());
    socket.setTimeout(1_000, () => socket.destroy());
  });
}
