import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openRaw } from "../../support/raw-http.ts";
import { createTestDatabase } from "../../support/services/database.ts";
import { createTestWallet, startTestServer } from "../../support/services/server.ts";
import { startHostileUpstream } from "../../support/upstreams/hostile-upstream.ts";

// Request smuggling: where a proxy and the server could disagree on the end of a request, the server returns 400 and
// closes. Each case hides a paid search behind a harmless request.

const db = await createTestDatabase();
const upstream = await startHostileUpstream();
const server = await startTestServer(db, { PENNYBLACK_SEARXNG_URL: upstream.url });
const wallet = await createTestWallet(db, "1.00");

after(async () => {
  await server.close();
  await upstream.close();
  await db.drop();
});

const body = '{"query":"smuggled"}';
const hidden = [
  "POST /v1/search HTTP/1.1",
  "Host: search.test",
  `x-api-key: ${wallet.live}`,
  "Content-Type: application/json",
  `Content-Length: ${body.length}`,
  "",
  body,
].join("\r\n");

function request(...lines: string[]): string {
  return `${["POST /v1/key HTTP/1.1", "Host: search.test", ...lines].join("\r\n")}\r\n\r\n`;
}

const chunked = `0\r\n\r\n${hidden}`;
const vectors: Record<string, string> = {
  "a length and chunked encoding": request(`Content-Length: ${chunked.length}`, "Transfer-Encoding: chunked") + chunked,
  "chunked encoding and a length": request("Transfer-Encoding: chunked", "Content-Length: 5") + chunked,
  "two lengths": request("Content-Length: 0", `Content-Length: ${hidden.length}`) + hidden,
  "two lengths in one header": request(`Content-Length: 0, ${hidden.length}`) + hidden,
  "a length with a sign": request("Content-Length: +0") + hidden,
  "a negative length": request("Content-Length: -1") + hidden,
  "a length in hexadecimal": request("Content-Length: 0x0") + hidden,
  "a length out of range": request("Content-Length: 18446744073709551616") + hidden,
  "a space before the colon of a length": request(`Content-Length : ${hidden.length}`) + hidden,
  "a folded length": request("X: y", ` Content-Length: ${hidden.length}`) + hidden,
  "a folded encoding": request("Transfer-Encoding:", " chunked") + chunked,
  "a space before the colon of an encoding": request("Transfer-Encoding : chunked", "Content-Length: 0") + chunked,
  "an encoding that is not chunked": request("Transfer-Encoding: xchunked", "Content-Length: 0") + chunked,
  "chunked, but not last": request("Transfer-Encoding: chunked, identity") + chunked,
  "two encodings": request("Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Content-Length: 0") + chunked,
  "a vertical tab before an encoding": request("Transfer-Encoding:\vchunked", "Content-Length: 0") + chunked,
  "bare line feeds": `${request("Content-Length: 0").replaceAll("\r\n", "\n")}${hidden}`,
  "a bare carriage return": `POST /v1/key HTTP/1.1\rHost: search.test\r\n\r\n${hidden}`,
  "a line feed in a header": request(`X: y\nContent-Length: ${hidden.length}`) + hidden,
  "a null character in a name": request("Content-\0Length: 0") + hidden,
  "a chunk size out of range": `${request("Transfer-Encoding: chunked")}ffffffffffffffff1\r\n${hidden}`,
  "a chunk size with a prefix": `${request("Transfer-Encoding: chunked")}0x0\r\n\r\n${hidden}`,
  "a chunk ended by a line feed": `${request("Transfer-Encoding: chunked")}0\n\n${hidden}`,
  "a chunk extension with a line feed": `${request("Transfer-Encoding: chunked")}0;a\nb\r\n\r\n${hidden}`,
  "an upgrade": `${request("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMA", "Content-Length: 5, 0")}${hidden}`,
};

for (const [name, bytes] of Object.entries(vectors))
  test(`no search is smuggled by ${name}`, async () => {
    const connection = await openRaw(server.url);
    connection.write(bytes);
    const answers: string[] = (await connection.closed).match(/HTTP\/1\.1 \d{3}/g) ?? [];
    assert.ok(answers.length <= 2, answers.join());
    assert.equal(answers.at(-1), "HTTP/1.1 400");
    assert.ok(!answers.includes("HTTP/1.1 200"));
    assert.equal(upstream.requests.length, 0);
  });

test("the same search is charged when it is sent as a separate request on the connection", async () => {
  const connection = await openRaw(server.url);
  connection.write(request("Content-Length: 0") + hidden);
  assert.equal((await connection.answer()).status, 405);
  assert.equal((await connection.answer()).status, 200);
  connection.socket.destroy();
  assert.equal((await server.readMoney(wallet.management)).balance, "0.99");
});
