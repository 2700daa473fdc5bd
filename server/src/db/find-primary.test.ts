import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { createFence } from "./fence.ts";
import { clientOfPrimary, countPrimaries, findPrimary } from "./find-primary.ts";

// Uses fake hosts that implement just enough of the PostgreSQL protocol to report a timeline.

/**
 * A timeline id as in WAL file names; null for a replica, which knows `replicaTimeline`. "silent": accepts connections and never responds. "closing": closes
 * the connection when it is queried.
 */
type Timeline = string | null;

interface FakeHost {
  at: string;
  timeline: Timeline;
  replicaTimeline: string | null;
  systemIdentifier: string;
  /** Open connections that got no response. */
  waiting: Set<Socket>;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function startHost(timeline: Timeline): Promise<FakeHost> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let isGreeted = false;
    sockets.add(socket.on("error", () => socket.destroy()));
    socket.on("data", (chunk) => {
      if (host.timeline === "silent") {
        host.waiting.add(socket);
        socket.once("close", () => host.waiting.delete(socket));
      } else if (!isGreeted) {
        isGreeted = true;
        socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready]));
      } else if (host.timeline === "closing") socket.destroy();
      else if (chunk.toString("latin1", 0, 1) === "Q") {
        const timeline = chunk.includes("pb.read_replica_timeline") ? host.replicaTimeline : host.timeline;
        socket.write(encodeRow(timeline && `${host.systemIdentifier} ${timeline}`));
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
    timeline,
    replicaTimeline: null,
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
function encodeRow(value: string | null): Buffer {
  const column = Buffer.from("\0\u0001identity\0\0\0\0\0\0\0\0\0\0\u0019\0\0\0\0\0\0\0\0", "latin1");
  const size = Buffer.alloc(6);
  size.writeInt16BE(1);
  size.writeInt32BE(value === null ? -1 : value.length, 2);
  const row = message("D", Buffer.concat([size, Buffer.from(value ?? "")]));
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

test("skips a replica, whatever the order of the hosts", async () => {
  const [primary, replica] = [await startHost("00000001"), await startHost(null)];
  assert.equal(await find(addressOf(primary, replica)), `postgres://role@${primary.at}/x`);
  assert.equal(await find(addressOf(replica, primary)), `postgres://role@${primary.at}/x`);
});

test("of two primaries, chooses the one on the later timeline, compared as hexadecimal", async () => {
  for (const [older, newer] of [
    ["00000001", "00000002"],
    ["00000009", "0000000A"],
    ["0000000F", "00000010"],
  ] as const) {
    const [before, after] = [await startHost(older), await startHost(newer)];
    assert.equal(await find(addressOf(before, after)), `postgres://role@${after.at}/x`);
    assert.equal(await find(addressOf(after, before)), `postgres://role@${after.at}/x`);
  }
});

test("chooses a newly promoted host without waiting for one that does not respond", async () => {
  const [first, second] = [await startHost("00000001"), await startHost(null)];
  const address = addressOf(first, second);
  const fence = createFence();
  assert.equal(await find(address, fence), `postgres://role@${first.at}/x`);
  [first.timeline, second.timeline] = ["silent", "00000002"];
  assert.equal(await find(address, fence), `postgres://role@${second.at}/x`);
  assert.equal(first.waiting.size, 1, "its query was still pending");
});

test("refuses an earlier timeline than one that a replica knows of", async () => {
  const [old, replica, gone] = [await startHost("00000001"), await startHost(null), await startHost("silent")];
  const address = addressOf(old, replica, gone);
  const fence = createFence();
  assert.equal(await find(address, fence), `postgres://role@${old.at}/x`);
  replica.replicaTimeline = "2";
  await assert.rejects(find(address, fence, 0), /is on timeline 1, and timeline 2 exists/);
  await assert.rejects(find(address, createFence(), 0), /is on timeline 1, and timeline 2 exists/);
  // A replica of another cluster proves nothing about this one.
  replica.systemIdentifier = "8";
  assert.equal(await find(address), `postgres://role@${old.at}/x`);
});

test("uses a primary only if half of the hosts respond", async () => {
  const [primary, other, gone] = [await startHost("00000001"), await startHost("silent"), await startHost("silent")];
  await assert.rejects(findPrimary(addressOf(primary, other, gone)), /only 1 of 3 database hosts responds, and 2 must/);
  assert.equal(await find(addressOf(primary, other)), `postgres://role@${primary.at}/x`);
  other.timeline = null;
  assert.equal(await find(addressOf(primary, other, gone)), `postgres://role@${primary.at}/x`);
  // Also if it was just promoted: another one can have been promoted after it.
  [primary.timeline, other.timeline] = ["00000002", "silent"];
  const fence = createFence();
  fence.require({ systemIdentifier: "7", timeline: 1 });
  await assert.rejects(findPrimary(addressOf(primary, other, gone), fence), /only 1 of 3 database hosts responds/);
});

test("rejects if no host is a primary", async () => {
  const [replica, gone] = [await startHost(null), await startHost("00000001")];
  const address = addressOf(replica, gone);
  for (const close of closers.splice(1)) close();
  await assert.rejects(findPrimary(address), /none of 2 database hosts is a reachable primary/);
});

test("refuses an earlier timeline than one already seen, and another system identifier", async () => {
  const [first, second] = [await startHost("00000002"), await startHost(null)];
  const address = addressOf(first, second);
  const fence = createFence();
  assert.equal(await find(address, fence), `postgres://role@${first.at}/x`);
  first.timeline = "00000001";
  await assert.rejects(find(address, fence), /is on timeline 1, and timeline 2 exists/);
  [first.timeline, first.systemIdentifier] = ["00000003", "8"];
  await assert.rejects(find(address, fence), /has the system identifier 8, and 7 is in use/);
  assert.deepEqual(fence.latest, { systemIdentifier: "7", timeline: 2 });
});

test("counts the hosts that accept writes", async () => {
  const [old, replica, primary] = [await startHost("00000001"), await startHost(null), await startHost("00000002")];
  await until("both are counted", async () => (await countPrimaries(addressOf(old, replica, primary))) === 2);
  old.timeline = null;
  assert.equal(await countPrimaries(addressOf(old, replica, primary)), 1);
});

test("a connection that is lost while its timeline is read is rejected, and does not end the process", async () => {
  const host = await startHost("closing");
  const Client = clientOfPrimary(addressOf(host), createFence());
  await assert.rejects(new Client().connect(), /terminated|ECONNRESET/);
});
