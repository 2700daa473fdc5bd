import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Machine } from "./node-network.ts";

/** The protocol between Patroni and etcd. */
export type EtcdProtocol = "v2" | "v3";

/** Patroni's setting with the addresses of etcd. */
export const hostsKeys: Record<EtcdProtocol, string> = { v2: "PATRONI_ETCD_HOSTS", v3: "PATRONI_ETCD3_HOSTS" };

export async function leadEtcd(nodes: readonly Machine[], node: Machine): Promise<void> {
  const etcdctl = (...args: string[]): Promise<string> => runEtcdctl("v3", args);
  const status = await etcdctl("endpoint", "status", "--endpoints", endpointsOf(nodes), "--write-out", "fields");
  const members = [...status.matchAll(/"MemberID" : (\d+)[^]*?"Leader" : (\d+)[^]*?"Endpoint" : "http:\/\/([\d.]+):/g)];
  const target = members.find(([, , , address]) => address === node.address)?.[1];
  const leader = members.find(([, id, leaderId]) => id === leaderId);
  if (target === undefined || leader === undefined) throw new Error(`etcd has no leader:\n${status}`);
  if (leader[1] === target) return;
  const [, , , leaderAddress] = leader;
  await etcdctl("move-leader", BigInt(target).toString(16), "--endpoints", `http://${leaderAddress}:2379`);
}

export async function giveLock(
  nodes: readonly Machine[],
  node: Machine,
  environment: Record<string, string>,
): Promise<void> {
  const key = "/service/pennyblack/leader";
  const others = ["--endpoints", endpointsOf(nodes.filter((other) => other !== node))];
  if (hostsKeys.v2 in environment) {
    await runEtcdctl("v2", [...others, "set", "--ttl", "30", key, node.name]);
    return;
  }
  const lease = /lease (\w+)/.exec(await runEtcdctl("v3", [...others, "lease", "grant", "30"]))?.[1] ?? "";
  await runEtcdctl("v3", [...others, "put", "--lease", lease, key, node.name]);
}

function endpointsOf(nodes: readonly Machine[]): string {
  return nodes.map(({ address }) => `http://${address}:2379`).join(",");
}

async function runEtcdctl(protocol: EtcdProtocol, args: string[]): Promise<string> {
  const env = { PATH: process.env["PATH"], ETCDCTL_API: protocol.slice(1) };
  return (await promisify(execFile)("etcdctl", args, { env, timeout: 20_000 })).stdout;
}
