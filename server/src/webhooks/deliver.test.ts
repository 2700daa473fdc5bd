import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type LookupFunction } from "node:net";
import { afterEach, beforeEach, test } from "node:test";
import { type Receiver, startReceiver } from "../../test/webhook-receiver.ts";
import { createSender, type Sender, type SenderOptions, type Sent } from "./deliver.ts";

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

function send(url: string, options: Partial<SenderOptions> = {}, signal = new AbortController().signal): Promise<Sent> {
  const sender = createSender({ allowPrivate: true, ...options });
  senders.push(sender);
  return sender.send({ url, headers: { "webhook-id": "1" }, body: '{"a":1}' }, signal);
}

test("a 2xx is success, anything else is not", async () => {
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

test("a redirect is a failure and is not followed", async () => {
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

test("an answer that does not come, or does not end, is given up after the deadline", async () => {
  receiver.answer(() => undefined);
  const began = performance.now();
  assert.deepEqual(await send(receiver.url, { timeoutMs: 300 }), { ok: false, error: "timeout" });
  assert.ok(performance.now() - began < 3_000);

  // One that stays silent before TLS or HTTP, and one whose name is never found.
  const silent = createServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  assert.deepEqual(await send(`https://127.0.0.1:${port}/`, { timeoutMs: 300 }), { ok: false, error: "timeout" });
  const lookup: LookupFunction = () => undefined;
  assert.deepEqual(await send("http://slow.test/", { timeoutMs: 300, lookup }), { ok: false, error: "timeout" });
  silent.close();
});

test("of an endless answer no more than 64 KiB is read", async () => {
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
  const began = performance.now();
  assert.deepEqual(await send(receiver.url), { ok: true, status: 200 });
  assert.ok(performance.now() - began < 5_000, "it did not wait for the end");
  // What the kernel's buffers took is not what we read.
  assert.ok(written < 16 * 1024 * 1024, `${written} bytes were taken`);
});

test("a receiver that is not there, or hangs up, is unreachable", async () => {
  receiver.answer((_call, response) => response.destroy());
  assert.deepEqual(await send(receiver.url), { ok: false, error: "unreachable" });
  assert.deepEqual(await send("http://127.0.0.1:1/"), { ok: false, error: "unreachable" });
  assert.deepEqual(await send("https://127.0.0.1:1/"), { ok: false, error: "unreachable" });
});

test("a stopping worker interrupts, which is not a failure of the receiver", async () => {
  const stopping = new AbortController();
  receiver.answer(() => stopping.abort());
  assert.deepEqual(await send(receiver.url, {}, stopping.signal), { ok: false, error: "interrupted" });
});

test("plain HTTP and private addresses are refused before anything is sent", async () => {
  const { port } = new URL(receiver.url);
  const strict = { allowPrivate: false };
  assert.deepEqual(await send(receiver.url, strict), { ok: false, error: "not_https" });
  for (const host of ["127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost"]) {
    assert.deepEqual(await send(`https://${host}:${port}/`, strict), { ok: false, error: "private_address" }, host);
  }
  assert.equal(receiver.received.length, 0);
});

test("a name is judged by the very answer that is connected to, so changing it in between gains nothing", async () => {
  // The receiver counts connections: not even one may be opened.
  let connections = 0;
  const home = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  home.listen(0, "127.0.0.1");
  await once(home, "listening");
  const { port } = home.address() as AddressInfo;

  // A stub of DNS: the attacker's server answers differently each time.
  const asked: string[] = [];
  const rebinding = (answers: string[][]): LookupFunction => {
    return (_name, _options, callback) => {
      const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
      asked.push(addresses.join(" "));
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
      );
    };
  };
  const attempts = [
    [["127.0.0.1"]],
    // Public when it was registered, private when it is called.
    [["127.0.0.1"], ["93.184.216.34"]],
    [["93.184.216.34", "127.0.0.1"]],
    [["::ffff:127.0.0.1"]],
    [["64:ff9b::7f00:1"]],
    [[]],
  ];
  for (const answers of attempts) {
    asked.length = 0;
    const sent = await send(`https://rebind.test:${port}/`, { allowPrivate: false, lookup: rebinding(answers) });
    assert.deepEqual(sent, { ok: false, error: "private_address" });
    assert.equal(asked.length, 1, "DNS was asked once, and that answer was judged");
  }
  assert.equal(connections, 0);
  home.close();
});
