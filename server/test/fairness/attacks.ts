import { setTimeout as wait } from "node:timers/promises";
import { lockWallet } from "../support/data/lock-wallet.ts";
import type { Attack, Size, Target } from "./fairness-fixture.ts";
import { readManyEndUsers, silentReceivers } from "./sharing-attacks.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

// Attacks of a hostile tenant, or of a client without a key, on the server.

export function attacksOf({ lockMs }: Size): Record<string, Attack> {
  const locked = lockMs.map((ms) => [`searches of a wallet that is locked for ${ms / 1_000} s`, lockedWallet(ms)]);
  return { ...Object.fromEntries(locked), ...attacks };
}

const attacks: Record<string, Attack> = {
  "management reads of a wallet with many end users": readManyEndUsers,
  "webhook receivers that never respond": silentReceivers,
  "slow searches with five test keys": traffic(
    ({ attacker }, size) => ({
      kind: "searches",
      keys: attacker.testKeys,
      query: "test:slow=10000",
      perSecond: size.searchesPerSecond,
    }),
    (size) => size.searchesPerSecond,
  ),
  "one test key at full speed": traffic(
    ({ attacker }, size) => ({
      kind: "searches",
      keys: [attacker.test],
      query: "cats",
      perSecond: size.searchesPerSecond,
    }),
    (size) => size.searchesPerSecond,
  ),
  "one live key at full speed": traffic(
    ({ attacker }, size) => ({
      kind: "searches",
      keys: [attacker.live],
      query: "cats",
      perSecond: size.searchesPerSecond,
    }),
    (size) => size.searchesPerSecond,
  ),
  "half-sent bodies with a live key": halfSent("/v1/search", ({ attacker }) => [`x-api-key: ${attacker.live}`], 16_000),
  "half-sent bodies without a key": halfSent("/console/api/sign-in/token", () => ["x-pennyblack-csrf: 1"], 16_000),
  "half-sent payment webhooks": halfSent("/v1/payments/stripe/webhook", () => [freshSignature()], 200_000),
  "pipelined garbage": traffic(
    (_target, size) => ({
      kind: "connections",
      connections: Math.ceil(size.connections / 100),
      perSecond: size.connections,
      head: (request("GET", "/nowhere") + request("GET", "/v1/key", ["x-api-key: pb_live_nonsense"])).repeat(8),
      paddingBytes: 0,
      // As many requests per second as in the baseline.
      repeatMs: 2_400,
    }),
    sustainedRate,
  ),
  "hosts of 7,900 labels": repeated(
    ({ n }) => request("GET", `/v1/lenses/base/inspect?url=${"a.".repeat(7_900)}${n}.com`),
    4,
  ),
  "unknown paths of 16 kB": repeated(() => request("GET", `/${"a/".repeat(7_900)}`), 24),
  "1,500 unknown parameters with a test key": repeated(({ attacker }) => {
    const unknown = Array.from({ length: 1_500 }, (_, index) => `a${index}=1`).join("&");
    return request("GET", `/compat/searxng/search?q=x&format=json&${unknown}`, [`x-api-key: ${attacker.test}`]);
  }, 8),
  "3,000 unknown parameters of a run": repeated(
    ({ attacker }) =>
      post("/v1/search", { query: "cats" }, [`x-api-key: ${attacker.test}`, `Search-Run: x;${"a=1;".repeat(3_000)}`]),
    8,
  ),
  "1,200 unknown names in one key": repeated(
    ({ attacker }) =>
      post(
        "/v1/keys",
        { mode: "test", name: "x", compat: { ignore: Array.from({ length: 1_200 }, (_, index) => `a${index}`) } },
        [`x-api-key: ${attacker.management}`],
      ),
    8,
  ),
};

/** The server closes a half-sent request after 15 seconds, so this many requests per second keep all of them open. */
function sustainedRate({ connections }: Size): number {
  return Math.ceil(connections / 15);
}

function halfSent(path: string, headers: (target: Target) => string[], bytes: number): Attack {
  return traffic(
    (target, size) => ({
      kind: "connections",
      connections: size.connections,
      perSecond: size.connections / 2,
      head: request("POST", path, [
        ...headers(target),
        "Content-Type: application/json",
        `Content-Length: ${bytes + 1}`,
      ]),
      paddingBytes: bytes,
    }),
    sustainedRate,
  );
}

/** The same request again and again. The number that it can contain is different each time. */
function repeated(
  describe: (values: { attacker: Target["attacker"]; n: string }) => string,
  perSecond: number,
): Attack {
  const connections = 4;
  return traffic(({ attacker }) => ({
    kind: "connections",
    connections,
    perSecond: 40,
    head: describe({ attacker, n: "{n}" }),
    paddingBytes: 0,
    repeatMs: (1_000 * connections) / perSecond,
  }));
}

/** Well-formed, with the current time, and made up. */
function freshSignature(): string {
  return `Stripe-Signature: t=${Math.floor(Date.now() / 1_000)},v1=${"0".repeat(64)}`;
}

function request(method: string, path: string, headers: readonly string[] = []): string {
  return `${[`${method} ${path} HTTP/1.1`, "Host: search.test", ...headers].join("\r\n")}\r\n\r\n`;
}

function post(path: string, value: unknown, headers: readonly string[]): string {
  const body = JSON.stringify(value);
  const described = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`];
  return request("POST", path, [...headers, ...described]) + body;
}

/** Searches of a wallet whose row another transaction has locked. */
function lockedWallet(lockMs: number): Attack {
  const perSecond = ({ searchesPerSecond }: Size): number => searchesPerSecond / 5;
  return {
    searchesPerSecond: perSecond,
    measureMs: lockMs * 1.25,
    async start(target) {
      const { db, port, size, attacker } = target;
      const keys = [attacker.live];
      const traffic = await startTraffic({ kind: "searches", keys, query: "cats", perSecond: perSecond(size), port });
      const lock = await lockWallet(db, attacker);
      const released = wait(lockMs).then(() => lock.release());
      return async () => {
        await released;
        return traffic.stop();
      };
    },
  };
}

type WithoutPort<One> = One extends Traffic ? Omit<One, "port"> : never;

function traffic(
  describe: (target: Target, size: Size) => WithoutPort<Traffic>,
  searchesPerSecond?: Attack["searchesPerSecond"],
): Attack {
  return {
    ...(searchesPerSecond && { searchesPerSecond }),
    async start(target) {
      const running = await startTraffic({ ...describe(target, target.size), port: target.port });
      return () => running.stop();
    },
  };
}
