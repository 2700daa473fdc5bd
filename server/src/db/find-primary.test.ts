import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, test } from "node:test";
import { findPrimary } from "./find-primary.ts";

// Which host is taken, over hosts that speak just enough of PostgreSQL's protocol to say what they are told to.

/** As the name of a file of the log begins; null for a replica. A silent host takes a connection and says nothing. */
type Says = string | null;

interface FakeHost {
  at: string;
  says: Says;
  /** Connections that are open and were never answered. */
  waiting: Set<Socket>;
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function startHost(says: Says): Promise<FakeHost> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let isGreeted = false;
    sockets.add(socket.on("error", () => socket.destroy()));
    socket.on("data", (chunk) => {
      if (host.says === "silent") {
        host.waiting.add(socket);
        socket.once("close", () => host.waiting.delete(socket));
      } else if (!isGreeted) {
        isGreeted = true;
        socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready]));
      } else if (chunk.toString("latin1", 0, 1) === "Q") socket.write(answer(host.says));
      else socket.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const host: FakeHost = { at: `127.0.0.1:${(server.address() as AddressInfo).port}`, says, waiting: new Set() };
  return host;
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}....`);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const ready = message("Z", Buffer.from("I"));

/** One row of one text. */
function answer(value: string | null): Buffer {
  const column = Buffer.from("\0\u0001timeline\0\0\0\0\0\0\0\0\0\0\u0019\0\0\0\0\0\0\0\0", "latin1");
  const size = Buffer.alloc(6);
  size.writeInt16BE(1);
  size.writeInt32BE(value === null ? -1 : value.length, 2);
  const row = message("D", Buffer.concat([size, Buffer.from(value ?? "")]));
  return Buffer.concat([message("T", column), row, message("C", Buffer.from("SELECT 1\0")), ready]);
}

/** A host has a second to answer, which a machine that is busy with other tests may let pass. */
async function find(address: string, tries = 5): Promise<string> {
  return findPrimary(address).catch((error: unknown) => {
    if (tries === 0) throw error;
    return find(address, tries - 1);
  });
}

function addressOf(...hosts: FakeHost[]): string {
  return `postgres://role@${hosts.map(({ at }) => at).join(",")}/x`;
}

test("a replica is not the primary, whichever is named first", async () => {
  const [primary, replica] = [await startHost("00000001"), await startHost(null)];
  assert.equal(await find(addressOf(primary, replica)), `postgres://role@${primary.at}/x`);
  assert.equal(await find(addressOf(replica, primary)), `postgres://role@${primary.at}/x`);
});

test("of two that say they are, the one that was promoted last counts, also after the tenth time", async () => {
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

test("a host that was promoted since is taken without waiting for one that is silent", async () => {
  const [first, second] = [await startHost("00000001"), await startHost(null)];
  const address = addressOf(first, second);
  assert.equal(await find(address), `postgres://role@${first.at}/x`);
  [first.says, second.says] = ["silent", "00000002"];
  assert.equal(await find(address), `postgres://role@${second.at}/x`);
  assert.equal(first.waiting.size, 1, "it was still being asked");
});

test("where none is a primary that is said, and not guessed", async () => {
  const [replica, gone] = [await startHost(null), await startHost("00000001")];
  const address = addressOf(replica, gone);
  for (const close of closers.splice(1)) close();
  await assert.rejects(findPrimary(address), /none of 2 database hosts is a primary/);
});
