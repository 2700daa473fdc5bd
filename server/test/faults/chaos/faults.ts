import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { until } from "../../support/assertions/until.ts";
import { backEndsOf } from "../../support/services/private-postgres.ts";
import type { BehaviourName, BehaviourOptions } from "../../support/upstreams/hostile-upstream.ts";
import { spoken } from "../crashes/spoken.ts";
import type { ChaosCluster, ChaosServer } from "./chaos-cluster.ts";
import type { Random } from "./random.ts";

// What is done to the world. Each kind belongs to a lane; a lane does one thing at a time, and the lanes go on side by
// side, so that a server dies while its database does.

export interface FaultContext {
  fixture: ChaosCluster;
  random: Random;
  /** How long a hold lives here. */
  holdLifeMs: number;
  /** Counts what was hit, where that is more or less than once per fault. */
  count: (what: string) => void;
  signal: AbortSignal;
}

/** What a fault says that found nobody to hurt; it does not count as one. */
export const nobodyThere = "nobody was there";

/** Does its work and undoes what does not undo itself. What it says is kept for the history of a violation. */
export type Fault = (context: FaultContext) => Promise<string>;

export const lanes: Record<string, Record<string, Fault>> = {
  killers: {
    server_killed: async (context) => {
      const [server] = takeServers(context, 1);
      if (!server) return nobodyThere;
      context.count("kills");
      server.process.signal("SIGKILL");
      await giveBack(context, server);
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
      for (const server of servers) await giveBack(context, server);
      return `servers ${servers.map(({ index }) => index).join(" and ")}`;
    },
    worker_killed: async ({ fixture, count }) => {
      count("kills");
      fixture.worker.signal("SIGKILL");
      return "worker";
    },
    rolling_restart: async (context) => {
      const servers = takeServers(context, 3);
      for (const server of servers) {
        server.process.signal("SIGTERM");
        // Until it has stopped; it is ready for as long as it drains.
        await wait(1_500);
        await giveBack(context, server);
      }
      return `servers ${servers.map(({ index }) => index).join(", ")}`;
    },
    clock_jump: async (context) => {
      const offset = context.random.pick(["+5h", "-5h", "+50s", "-50s", "+25h", "-25h"]);
      context.fixture.setClock?.(offset);
      await pause(context, 4_000);
      context.fixture.setClock?.("+0");
      await wait(1_200);
      return offset;
    },
  },
  sleepers: {
    server_paused: async (context) => {
      const [server] = takeServers(context, 1);
      if (!server) return nobodyThere;
      server.process.signal("SIGSTOP");
      await pause(context, context.holdLifeMs + 5_000);
      server.process.signal("SIGCONT");
      await giveBack(context, server);
      return `server ${server.index}`;
    },
  },
  wires: {
    cut_before_commit: (context) => plant(context, "cutRequest"),
    cut_after_commit: (context) => plant(context, "cutAnswer"),
    silent_before_commit: (context) => plant(context, "swallowRequest"),
    silent_after_commit: (context) => plant(context, "swallowAnswer"),
    all_connections_cut: async ({ fixture, random }) => {
      const server = random.pick(fixture.servers);
      for (const { wire } of server.wires) wire.cut();
      return `server ${server.index}`;
    },
    packets_lost: async (context) => {
      const server = context.random.pick(context.fixture.servers);
      for (const { wire } of server.wires) wire.blackhole(true);
      await pause(context, context.random.integer(200, 2_500));
      for (const { wire } of server.wires) {
        wire.blackhole(false);
        wire.cut();
      }
      return `server ${server.index}`;
    },
  },
  around: {
    redis_stopped: async (context) => {
      context.fixture.redis.signal("SIGSTOP");
      await pause(context, 2_000);
      context.fixture.redis.signal("SIGCONT");
      return "";
    },
    redis_killed: async ({ fixture, count }) => {
      count("kills");
      fixture.redis.signal("SIGKILL");
      return "";
    },
    redis_wiped: async ({ fixture }) => {
      await sayToRedis(fixture.redisPort, "FLUSHALL");
      return "";
    },
    redis_slow: async (context) => {
      for (let round = 0; round < 20; round += 1) {
        context.fixture.redisWire.pause();
        await wait(context.random.integer(10, 120));
        context.fixture.redisWire.resume();
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
    back_end_killed: async ({ fixture, random, count }) => {
      const primary = await fixture.pair.findPrimary();
      if (!primary) return nobodyThere;
      const name = random.pick(["pennyblack ledger", "pennyblack tenant", "pennyblack worker"]);
      const [victim] = await backEndsOf(primary.url, name).catch(() => []);
      if (victim === undefined) return nobodyThere;
      count("kills");
      process.kill(victim, "SIGKILL");
      return `${primary.name} ${name}, ${await fixture.pair.heal()}`;
    },
    primary_killed: async ({ fixture, count }) => {
      const primary = await fixture.pair.findPrimary();
      if (!primary) return nobodyThere;
      count("kills");
      await primary.process.retire("SIGKILL");
      await until("the replica is promoted", async () => (await fixture.pair.findPrimary()) !== undefined, 60_000);
      return `${primary.name}, ${await fixture.pair.heal()}`;
    },
    replica_killed: async ({ fixture, count }) => {
      const primary = await fixture.pair.findPrimary();
      if (!primary) return nobodyThere;
      const replica = fixture.pair.other(primary);
      count("kills");
      replica.process.signal("SIGKILL");
      return `${replica.name}, ${await fixture.pair.heal()}`;
    },
    disk_full: async (context) => {
      const primary = await context.fixture.pair.findPrimary();
      if (!primary) return nobodyThere;
      const ballast = join(primary.folder, "ballast");
      const mib = fillDisk(ballast);
      await pause(context, context.random.integer(1_000, 4_000));
      rmSync(ballast);
      return `${primary.name}, ${mib} MiB, ${await context.fixture.pair.heal()}`;
    },
  },
};

/** Kinds that cannot run on this machine, and why. */
export function skippedKinds(fixture: ChaosCluster): Record<string, string> {
  return {
    ...(fixture.setClock ? {} : { clock_jump: "libfaketime is not installed and cannot be" }),
    ...(fixture.pair.whyNoDisk ? { disk_full: fixture.pair.whyNoDisk } : {}),
  };
}

/** Servers that nobody else is doing something to, at most as many. */
function takeServers({ fixture, random }: FaultContext, most: number): ChaosServer[] {
  const taken = random.shuffle(fixture.servers.filter((server) => !server.isBusy)).slice(0, most);
  for (const server of taken) server.isBusy = true;
  return taken;
}

/** When it serves again. */
async function giveBack({ fixture, signal }: FaultContext, server: ChaosServer): Promise<void> {
  await until(`server ${server.index} is back`, async () => signal.aborted || (await fixture.isReady(server)), 90_000);
  server.isBusy = false;
}

type Plant = "cutRequest" | "cutAnswer" | "swallowRequest" | "swallowAnswer";

async function plant(context: FaultContext, how: Plant): Promise<string> {
  const { fixture, random, count } = context;
  const verb = random.pick(["hold", "hold", "capture", "capture", "release"] as const);
  const server = random.pick(fixture.servers);
  const primary = await fixture.pair.findPrimary();
  const wire = server.wires.find(({ node }) => node === primary)?.wire;
  if (!wire) return nobodyThere;
  const hit = wire[how](spoken[verb]).then(() => count(`${how} ${verb}`));
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

/** As it is when nothing is wrong with it. */
/** Few results: here it is money that is tried, a million times. */
export const calmUpstream = ["slow_headers", { everyMs: 15, hits: 2 }] as const;

async function upstreamFault(context: FaultContext): Promise<string> {
  const [name, options] = context.random.pick(upstreamFaults);
  await context.fixture.upstream.behave(name, options);
  context.count(`upstream ${name}`);
  await pause(context, context.random.integer(300, 1_500));
  await context.fixture.upstream.behave(...calmUpstream);
  return name;
}

async function otherUpstreamFault(context: FaultContext): Promise<string> {
  const name = context.random.pick(["throttled", "down", "malformed", "invalid-shape", "empty-account", "empty"]);
  context.fixture.otherUpstream.serve("brave", name);
  context.count(`other upstream ${name}`);
  await pause(context, context.random.integer(300, 1_500));
  context.fixture.otherUpstream.serve("brave", "ok");
  return name;
}

async function pause({ signal }: FaultContext, ms: number): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}

/** Says how many MiB it took. */
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

function sayToRedis(port: number, command: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.end(`${command}\r\nQUIT\r\n`));
    socket.resume();
    // It may be stopped or dead just now.
    socket.once("error", () => resolve());
    socket.once("close", () => resolve());
    socket.setTimeout(1_000, () => socket.destroy());
  });
}
