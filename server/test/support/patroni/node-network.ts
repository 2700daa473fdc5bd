import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { sendSignal } from "../services/send-signal.ts";

// Network namespaces that stand for machines, connected by a bridge to this one. Each has its own address, and can be cut
// off. Requires root.

export interface Machine {
  name: string;
  address: string;
  namespace: string;
}

export interface MachineNetwork {
  machines: readonly Machine[];
  /** The first three numbers of every address. */
  prefix: string;
  /** Packets from and to this machine are lost. */
  disconnect(machine: Machine): void;
  /** Packets between this machine and the others are lost; this computer still reaches it. */
  separate(machine: Machine): void;
  reconnect(machine: Machine): void;
  /** Signals every process on the machine, or those of one program. */
  signal(machine: Machine, signal: NodeJS.Signals, program?: string): void;
  close(): void;
}

export function createNetwork(names: readonly string[]): MachineNetwork {
  const { bridge, prefix } = createBridge();
  const machines = names.map((name, index) => ({
    name,
    address: `${prefix}.${11 + index}`,
    namespace: `${bridge}-${name}`,
  }));
  const inside = ({ namespace }: Machine, ...args: string[]): void => ip("-n", namespace, ...args);
  const others = (machine: Machine): Machine[] => machines.filter((other) => other !== machine);
  for (const machine of machines) connectMachine(bridge, machine);

  function close(): void {
    process.removeListener("exit", close);
    removeNetwork(bridge);
  }
  // In case the process exits without closing.
  process.once("exit", close);

  return {
    machines,
    prefix,
    disconnect: ({ namespace }) => ip("link", "set", namespace, "down"),
    separate(machine) {
      for (const { address } of others(machine)) inside(machine, "route", "replace", "blackhole", address);
    },
    reconnect(machine) {
      ip("link", "set", machine.namespace, "up");
      for (const { address } of others(machine))
        ipIfPossible("-n", machine.namespace, "route", "del", "blackhole", address);
    },
    signal: signalAll,
    close,
  };
}

/** Ends every process in the namespaces of a bridge, and removes them. */
export function removeNetwork(bridge: string): void {
  for (const namespace of globSync(`${bridge}-*`, { cwd: "/run/netns" })) {
    signalAll({ namespace }, "SIGKILL");
    ip("netns", "del", namespace);
  }
  ip("link", "del", bridge);
}

/** In 198.18.0.0/15, which is reserved for tests of networks. Several tests may run at the same time. */
function createBridge(): { bridge: string; prefix: string } {
  for (let attempt = 1; ; attempt += 1) {
    const number = randomInt(1, 255);
    const bridge = `pb${number}`;
    try {
      ip("link", "add", bridge, "type", "bridge");
    } catch (error) {
      if (attempt === 20) throw error;
      continue;
    }
    const prefix = `198.18.${number}`;
    // By which a later run recognizes the network of a run that was killed.
    ip("link", "set", bridge, "alias", String(process.pid));
    ip("address", "add", `${prefix}.1/24`, "dev", bridge);
    ip("link", "set", bridge, "up");
    return { bridge, prefix };
  }
}

function connectMachine(bridge: string, { namespace, address }: Machine): void {
  ip("netns", "add", namespace);
  // The outer end of the cable has the name of the namespace.
  ip("link", "add", namespace, "type", "veth", "peer", "name", "eth0", "netns", namespace);
  ip("link", "set", namespace, "master", bridge, "up");
  ip("-n", namespace, "link", "set", "lo", "up");
  ip("-n", namespace, "address", "add", `${address}/24`, "dev", "eth0");
  ip("-n", namespace, "link", "set", "eth0", "up");
}

function signalAll({ namespace }: Pick<Machine, "namespace">, signal: NodeJS.Signals, program?: string): void {
  const pids = execFileSync("ip", ["netns", "pids", namespace], { encoding: "utf8" }).split("\n").filter(Boolean);
  for (const pid of pids) if (program === undefined || nameOf(pid) === program) sendSignal(Number(pid), signal);
}

/** Undefined if the process has ended. */
function nameOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trimEnd();
  } catch {
    return undefined;
  }
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}

function ipIfPossible(...args: string[]): void {
  try {
    ip(...args);
  } catch {
    // The route does not exist.
  }
}
