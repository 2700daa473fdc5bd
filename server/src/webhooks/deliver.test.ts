import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type LookupFunction } from "node:net";
import { afterEach, beforeEach, test } from "node:test";
import { until } from "../../test/support/assertions/until.ts";
import { startNameServer } from "../../test/support/services/name-server.ts";
import { type Receiver, startReceiver } from "../../test/support/services/webhook-receiver.ts";
import { createSender, type Sender, type SenderOptions, type SendResult } from "./deliver.ts";
import { createDnsLookup } from "./dns-lookup.ts";

let receiver: Receiver;
let senders: Sender[] = [];

beforeEach(async () => {
  receiver = await startReceiver();
});

afterEach(async () => {
  await Promise.all(senders.map((sender) => sender.close()));
  senders = [];
  await receiver.close();
});

function send(
  url: string,
  options: Partial<SenderOptions> = {},
  signal = new AbortController().signal,
): Promise<SendResult> {
  const sender = createSender({ allowPrivate: true, ...options });
  senders.push(sender);
  return sender.send({ url, headers: { "webhook-id": "1" }, body: '{"a":1}' }, signal);
}

test("only a 2xx response is a success", async () => {
  for (const status of [200, 201, 204, 299]) {
    receiver.answer((_call, response) => response.writeHead(status).end());
    assert.deepEqual(await send(receiver.url), { ok: true, status });
  }
  for (const status of [400, 404, 410, 429, 500, 503]) {
    receiver.answer((_call, response) => response.writeHead(status).end("no"));
    assert.deepEqual(await send(receiver.url), { ok: false, error: "status", status });
  }
  const { headers, body } = receiver.received[0] ?? assert.fail();
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["webhook-id"], "1");
  assert.equal(body, '{"a":1}');
});

test("does not follow redirects and reports them as failures", async () => {
  const other = await startReceiver();
  try {
    for (const status of [301, 302, 303, 307, 308]) {
      receiver.answer((_call, response) => response.writeHead(status, { location: other.url }).end());
      assert.deepEqual(await send(receiver.url), { ok: false, error: "redirect", status });
    }
    assert.equal(other.received.length, 0);
  } finally {
    await other.close();
  }
});

test("times out when the receiver does not respond", async () => {
  receiver.answer(() => undefined);
  assert.deepEqual(await send(receiver.url, { timeoutMs: 300 }), { ok: false, error: "timeout" });

  // A server that never answers the TLS handshake, and a DNS lookup that never returns.
  const silent = createServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  assert.deepEqual(await send(`https://127.0.0.1:${port}/`, { timeoutMs: 300 }), { ok: false, error: "timeout" });
  const lookup: LookupFunction = () => undefined;
  assert.deepEqual(await send("http://slow.test/", { timeoutMs: 300, lookup }), { ok: false, error: "timeout" });
  silent.close();
});

test("reads at most 64 KiB of an endless response", async () => {
  let written = 0;
  receiver.answer((_call, response) => {
    response.writeHead(200);
    const more = (): void => {
      written += 16_384;
      if (response.write(Buffer.alloc(16_384))) setImmediate(more);
    };
    response.on("drain", more);
    more();
  });
  assert.deepEqual(await send(receiver.url), { ok: true, status: 200 });
  // Socket buffers accept more than we read.
  assert.ok(written < 16 * 1024 * 1024, `${written} bytes were written`);
});

test("a refused or closed connection is reported as unreachable", async () => {
  receiver.answer((_call, response) => response.destroy());
  assert.deepEqual(await send(receiver.url), { ok: false, error: "unreachable" });
  assert.deepEqual(await send("http://127.0.0.1:1/"), { ok: false, error: "unreachable" });
  assert.deepEqual(await send("https://127.0.0.1:1/"), { ok: false, error: "unreachable" });
});

test("a delivery aborted by a stopping worker is reported as interrupted", async () => {
  const stopping = new AbortController();
  receiver.answer(() => stopping.abort());
  assert.deepEqual(await send(receiver.url, {}, stopping.signal), { ok: false, error: "interrupted" });
});

test("refuses plain HTTP and private addresses before sending anything", async () => {
  const { port } = new URL(receiver.url);
  const strict = { allowPrivate: false };
  assert.deepEqual(await send(receiver.url, strict), { ok: false, error: "not_https" });
  for (const host of ["127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]) {
    assert.deepEqual(await send(`https://${host}:${port}/`, strict), { ok: false, error: "private_address" }, host);
  }
  assert.equal(receiver.received.length, 0);
});

test("a name without a public address is reported in the same way whether it exists or not", async () => {
  const strict = (lookup: LookupFunction) => send("https://db.internal/", { allowPrivate: false, lookup });
  const exists = strict((_name, _options, callback) => callback(null, [{ address: "10.0.0.7", family: 4 }]));
  const failure = Object.assign(new Error("getaddrinfo ENOTFOUND db.internal"), { code: "ENOTFOUND" });
  const isUnknown = strict((_name, _options, callback) => callback(failure, []));
  assert.deepEqual(await exists, { ok: false, error: "private_address" });
  assert.deepEqual(await isUnknown, await exists);
});

test("a delivery arrives while the name servers of eight other receivers never answer", async () => {
  const names = await startNameServer({ "hook.test": ["127.0.0.1"] });
  const lookup = createDnsLookup([names.address]);
  const stopping = new AbortController();
  const slow = Array.from({ length: 8 }, (_, index) => send(`http://slow-${index}.test/`, { lookup }, stopping.signal));
  try {
    await until("all slow names were queried", () => new Set(names.queried).size === slow.length);
    const { port } = new URL(receiver.url);
    assert.deepEqual(await send(`http://hook.test:${port}/`, { lookup }), { ok: true, status: 204 });
    assert.equal(receiver.received.length, 1);
  } finally {
    stopping.abort();
    await Promise.all(slow);
    await names.close();
  }
});

test("names of public receivers are queried at the name servers, and private addresses are refused", async () => {
  const names = await startNameServer({ "hook.test": ["127.0.0.1"], localhost: ["127.0.0.1"] });
  try {
    for (const name of ["hook.test", "localhost"]) {
      const sent = await send(`https://${name}/`, { allowPrivate: false, nameServers: [names.address] });
      assert.deepEqual(sent, { ok: false, error: "private_address" });
      assert.ok(names.queried.includes(name), name);
    }
  } finally {
    await names.close();
  }
});

test("checks the same DNS answer that it connects to, which defeats DNS rebinding", async () => {
  // Not even a connection may be opened.
  let connections = 0;
  const local = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  local.listen(0, "127.0.0.1");
  await once(local, "listening");
  const { port } = local.address() as AddressInfo;

  // A DNS stub that returns a different answer each time.
  const lookups: string[] = [];
  const rebinding = (answers: string[][]): LookupFunction => {
    return (_name, _options, callback) => {
      const addresses = answers[Math.min(lookups.length, answers.length - 1)] ?? [];
      lookups.push(addresses.join(" "));
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    };
  };
  const attempts = [
    [["127.0.0.1"]],
    // Private for the first lookup, public for the second.
    [["127.0.0.1"], ["93.184.216.34"]],
    [["93.184.216.34", "127.0.0.1"]],
    [["::ffff:127.0.0.1"]],
    [["64:ff9b::7f00:1"]],
    [[]],
  ];
  for (const answers of attempts) {
    lookups.length = 0;
    const sent = await send(`https://rebind.test:${port}/`, { allowPrivate: false, lookup: rebinding(answers) });
    assert.deepEqual(sent, { ok: false, error: "private_address" });
    assert.equal(lookups.length, 1, "one lookup for both the check and the connection");
  }
  assert.equal(connections, 0);
  local.close();
});
