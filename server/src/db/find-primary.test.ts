import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import { createFence, RefusedDatabase } from "./fence.ts";
import { clientOfPrimary, findPrimary, readHosts } from "./find-primary.ts";

// Uses fake hosts that implement just enough of the PostgreSQL protocol to report a timeline.

/** "silent": accepts connections and never responds. "closing": closes the connection when it is queried. */
type State = "primary" | "replica" | "silent" | "closing";

interface FakeHost {
  at: string;
  state: State;
  timeline: number;
  history: string;
  /** That are connected to it. */
  replicas: number;
  systemIdentifier: string;
  /** Open connections that got no response. */
  waiting: Set<Socket>;
  /** Called once, between reading and sending the next response. */
  onRead?: () => void;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function startHost(state: State, timeline = 1, history = ""): Promise<FakeHost> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let isGreeted = false;
    sockets.add(socket.on("error", () => socket.destroy()));
    socket.on("data", (chunk) => {
      if (host.state === "silent") {
        host.waiting.add(socket);
        socket.once("close", () => host.waiting.delete(socket));
      } else if (!isGreeted) {
        isGreeted = true;
        socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready]));
      } else if (host.state === "closing") socket.destroy();
      else if (chunk.toString("latin1", 0, 1) === "Q") {
        const identity = `${host.systemIdentifier} ${host.timeline} ${host.history} ${host.state} ${host.replicas}`;
        const { onRead } = host;
        delete host.onRead;
        onRead?.();
        socket.write(encodeRow(identity));
      } else socket.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const host: FakeHost = {
    at: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    timeline,
    history,
    replicas: 1,
    systemIdentifier: "7",
    waiting: new Set(),
  };
  return host;
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}....`);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const ready = message("Z", Buffer.from("I"));

/** A result of one row with one text column. */
function encodeRow(value: string): Buffer {
  const column = Buffer.from("\0\u0001identity\0\0\0\0\0\0\0\0\0\0\u0019\0\0\0\0\0\0\0\0", "latin1");
  const size = Buffer.alloc(6);
  size.writeInt16BE(1);
  size.writeInt32BE(value.length, 2);
  const row = message("D", Buffer.concat([size, Buffer.from(value)]));
  return Buffer.concat([message("T", column), row, message("C", Buffer.from("SELECT 1\0")), ready]);
}

/** Retries, because a host may exceed its one-second timeout while other tests use the CPU. */
async function find(address: string, fence = createFence(), tries = 5): Promise<string> {
  return findPrimary(address, fence).catch((error: unknown) => {
    if (tries === 0) throw error;
    return find(address, fence, tries - 1);
  });
}

function addressOf(...hosts: FakeHost[]): string {
  return `postgres://role@${hosts.map(({ at }) => at).join(",")}/x`;
}

test("skips a replica, regardless of the order of the hosts", async () => {
  const [primary, replica] = [await startHost("primary"), await startHost("replica")];
  assert.equal(await find(addressOf(primary, replica)), `postgres://role@${primary.at}/x`);
  assert.equal(await find(addressOf(replica, primary)), `postgres://role@${primary.at}/x`);
});

test("of two primaries, chooses the one on the later timeline, or on which money was moved", async () => {
  for (const [older, newer] of [
    [await startHost("primary", 1), await startHost("primary", 2)],
    [await startHost("primary", 9), await startHost("primary", 10)],
    [await startHost("primary", 2, "1:a"), await startHost("primary", 2, "1:a,2:b")],
  ] as const) {
    assert.equal(await find(addressOf(older, newer)), `postgres://role@${newer.at}/x`);
    assert.equal(await find(addressOf(newer, older)), `postgres://role@${newer.at}/x`);
  }
});

test("uses neither of two primaries with different histories, and no primary that lacks what a replica has", async () => {
  const [one, other, replica] = [
    await startHost("primary", 2, "1:a,2:b"),
    await startHost("primary", 2, "1:a,2:c"),
    await startHost("replica", 2, "1:a"),
  ];
  await assert.rejects(
    find(addressOf(one, other, replica), createFence(), 0),
    /Money was moved on timeline 2:[bc], which/,
  );
  // Even after another promotion, and for a process that has seen one of them.
  other.timeline = 3;
  await assert.rejects(find(addressOf(one, other, replica), createFence(), 0), /Neither is used/);
  const fence = createFence();
  fence.require({ systemIdentifier: "7", timeline: 2, history: ["1:a", "2:b"] });
  await assert.rejects(find(addressOf(other, replica), fence, 0), /The database lacks timeline 2:b/);
  [one.state, replica.history] = ["silent", "1:a,2:b"];
  await assert.rejects(
    find(addressOf(one, other, replica), createFence(), 0),
    /timeline 2:b, which .* has and the primary/,
  );
  // The other history was copied from this one.
  [one.state, other.state, other.timeline, other.history] = ["primary", "replica", 2, "1:a,2:b"];
  assert.equal(await find(addressOf(one, other, replica), fence), `postgres://role@${one.at}/x`);
});

test("chooses a newly promoted host without waiting for one that does not respond", async () => {
  const [first, second] = [await startHost("primary"), await startHost("replica")];
  const address = addressOf(first, second);
  const fence = createFence();
  assert.equal(await find(address, fence), `postgres://role@${first.at}/x`);
  [first.state, second.state, second.timeline] = ["silent", "primary", 2];
  assert.equal(await find(address, fence), `postgres://role@${second.at}/x`);
  assert.equal(first.waiting.size, 1, "its query was still pending");
});

test("refuses an earlier timeline than one that a replica has seen", async () => {
  const [old, replica, gone] = [await startHost("primary"), await startHost("replica"), await startHost("silent")];
  const address = addressOf(old, replica, gone);
  const fence = createFence();
  assert.equal(await find(address, fence), `postgres://role@${old.at}/x`);
  replica.timeline = 2;
  await assert.rejects(find(address, fence, 0), /is on timeline 1, and timeline 2 exists/);
  await assert.rejects(find(address, createFence(), 0), /is on timeline 1, and timeline 2 exists/);
  // A replica of another cluster proves nothing about this one.
  replica.systemIdentifier = "8";
  assert.equal(await find(address), `postgres://role@${old.at}/x`);
});

test("uses a primary only if half of the hosts respond", async () => {
  const [primary, other, gone] = [await startHost("primary"), await startHost("silent"), await startHost("silent")];
  await assert.rejects(findPrimary(addressOf(primary, other, gone)), /only 1 of 3 database hosts responds, and 2 must/);
  assert.equal(await find(addressOf(primary, other)), `postgres://role@${primary.at}/x`);
  other.state = "replica";
  assert.equal(await find(addressOf(primary, other, gone)), `postgres://role@${primary.at}/x`);
  // Also if it was just promoted: another one can have been promoted after it.
  [primary.timeline, other.state] = [2, "silent"];
  const fence = createFence();
  fence.require({ systemIdentifier: "7", timeline: 1, history: [] });
  await assert.rejects(findPrimary(addressOf(primary, other, gone), fence), /only 1 of 3 database hosts responds/);
});

test("a process without any history uses only a primary that replicas follow", async () => {
  const [old, replica, gone] = [await startHost("primary"), await startHost("replica"), await startHost("silent")];
  const address = addressOf(old, replica, gone);
  old.replicas = 0;
  await assert.rejects(
    findPrimary(address, createFence()),
    /no replica is connected to 127\.0\.0\.1:\d+, so it may be/,
  );
  const informed = createFence();
  informed.require({ systemIdentifier: "7", timeline: 1, history: [] });
  assert.equal(await find(address, informed), `postgres://role@${old.at}/x`);
  // Of two hosts, one may be alone.
  assert.equal(await find(addressOf(old, replica)), `postgres://role@${old.at}/x`);
  old.replicas = 1;
  assert.equal(await find(address), `postgres://role@${old.at}/x`);
});

test("rejects if no host is a primary", async () => {
  const [replica, gone] = [await startHost("replica"), await startHost("primary")];
  const address = addressOf(replica, gone);
  for (const close of closers.splice(1)) close();
  await assert.rejects(findPrimary(address), /none of 2 database hosts is a reachable primary/);
});

test("refuses an earlier timeline than one already seen, and another system identifier", async () => {
  const [first, second] = [await startHost("primary", 2), await startHost("replica")];
  const address = addressOf(first, second);
  const fence = createFence();
  assert.equal(await find(address, fence), `postgres://role@${first.at}/x`);
  first.timeline = 1;
  await assert.rejects(find(address, fence), /is on timeline 1, and timeline 2 exists/);
  [first.timeline, first.systemIdentifier] = [3, "8"];
  await assert.rejects(find(address, fence), /has the system identifier 8, and 7 is in use/);
  assert.deepEqual(fence.latest, { systemIdentifier: "7", timeline: 2, history: [] });
});

test("reports the role of each host, and those with a history that the primary lacks", async () => {
  const [old, replica, primary, gone] = [
    await startHost("primary", 2, "1:a,2:b"),
    await startHost("replica", 2, "1:a"),
    await startHost("primary", 3, "1:a,3:c"),
    await startHost("silent"),
  ];
  assert.deepEqual(await readHosts(addressOf(old, replica, primary, gone)), [
    { name: old.at, role: "primary", timeline: 2, diverged: "2:b" },
    { name: replica.at, role: "replica", timeline: 2, diverged: undefined },
    { name: primary.at, role: "primary", timeline: 3, diverged: undefined },
    { name: gone.at, role: "unreachable", timeline: undefined, diverged: undefined },
  ]);
});

test("a connection that is lost while its timeline is read is rejected, and does not end the process", async () => {
  const host = await startHost("closing");
  const Client = clientOfPrimary(addressOf(host), createFence());
  await assert.rejects(new Client().connect(), /terminated|ECONNRESET/);
});

test("a history that was read before this process learned more is read again", async () => {
  const [host, replica] = [await startHost("primary"), await startHost("replica")];
  const moveMoney = (): void => {
    host.history = replica.history = "1:a";
    fence.pass({ systemIdentifier: "7", timeline: 1, history: ["1:a"] });
  };
  const fence = createFence();
  fence.pass({ systemIdentifier: "7", timeline: 1, history: [] });
  const Client = clientOfPrimary(addressOf(host), fence);
  host.onRead = moveMoney;
  await new Client().connect();
  for (const each of [host, replica]) each.history = "";
  fence.require({ systemIdentifier: "7", timeline: 1, history: [] });
  host.onRead = moveMoney;
  assert.equal(new URL(await findPrimary(addressOf(host, replica), fence)).host, host.at);
});

test("a database that still lacks what was learned meanwhile is refused", async () => {
  const host = await startHost("primary");
  const fence = createFence();
  fence.pass({ systemIdentifier: "7", timeline: 1, history: [] });
  host.onRead = () => fence.pass({ systemIdentifier: "7", timeline: 1, history: ["1:a"] });
  await assert.rejects(new (clientOfPrimary(addressOf(host), fence))().connect(), RefusedDatabase);
});
