import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "../support/assertions/until.ts";
import { createConsoleFixture, publicUrl, someone } from "../support/console-fixture.ts";
import { openRaw, type RawConnection, rawRequest } from "../support/raw-http.ts";

const fixture = await createConsoleFixture();
const { server } = fixture;

after(() => fixture.close());

const networks = Array.from({ length: 4 }, (_, index) => `198.51.100.${index + 1}`);
/** The requests in flight that a network can have, so that four networks exceed the slots for unknown callers. */
const perNetwork = 64;

function headersOf(network: string): string[] {
  return [
    `X-Forwarded-For: ${network}`,
    "X-Pennyblack-Csrf: 1",
    `Origin: ${publicUrl}`,
    "Content-Type: application/json",
  ];
}

/** Announces 40 bytes and sends 9. */
async function sendHalf(network: string): Promise<RawConnection> {
  const connection = await openRaw(server.url);
  const headers = [...headersOf(network), "Content-Length: 40"];
  connection.write(rawRequest("POST /console/api/sign-in/token", headers, '{"token":'));
  return connection;
}

async function isNetworkFull(network: string): Promise<boolean> {
  const headers = { "x-forwarded-for": network };
  const { status } = await server.request("/console/api/session", { headers });
  return status !== 200;
}

test("256 half-sent bodies from four networks block neither pages nor sign-in nor the console for others", async () => {
  const email = someone("ada");
  const { walletId } = await fixture.openAccount(email);
  const person = await fixture.signIn(email);
  const halves: RawConnection[] = [];
  try {
    for (const network of networks) {
      for (let count = 0; count < perNetwork; count += 1) halves.push(await sendHalf(network));
      await until("the requests are in flight", () => isNetworkFull(network));
    }
    const visitor = fixture.openBrowser();
    assert.equal((await visitor.open("/")).status, 200, "landing page");
    assert.equal((await visitor.open("/openapi.json")).status, 200, "documents");
    assert.equal((await visitor.get("session")).status, 200, "session");
    assert.equal((await person.get(`wallets/${walletId}/wallet`)).status, 200, "a signed-in person");
    assert.equal((await (await fixture.signIn(email)).get("session")).body.person?.email, email, "sign-in");
  } finally {
    for (const { socket } of halves) socket.destroy();
  }
});

test("a body that arrives later than its headers is read, and its request answered", async () => {
  const connection = await openRaw(server.url);
  const body = JSON.stringify({ token: "x".repeat(43) });
  const headers = [...headersOf("198.51.100.9"), `Content-Length: ${body.length}`];
  connection.write(rawRequest("POST /console/api/sign-in/token", headers, body.slice(0, 9)));
  await until("the first part has arrived", async () => (await fixture.openBrowser().get("session")).status === 200);
  connection.write(body.slice(9));
  const answer = await connection.answer();
  connection.socket.destroy();
  assert.equal(JSON.parse(answer.text).code, "link_not_valid");
});
