import { createServer } from "node:http";
import { listen } from "../services/listen.ts";
import { readFixture } from "./provider-fixtures.ts";

export interface FixtureUpstream {
  url: string;
  /** Answers every later request with this fixture, such as "brave", "empty-account". */
  serve(provider: string, fixture: string): void;
  /** Leaves later requests unanswered, until `serve`. */
  stall(): void;
  /** Number of requests so far. */
  count(): number;
  close(): Promise<void>;
}

/** An HTTP server that answers as a provider would, with the fixtures of its adapter. */
export async function startFixtureUpstream(provider: string, fixture: string): Promise<FixtureUpstream> {
  let reply = readFixture(provider, fixture);
  let isStalled = false;
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    request.resume();
    if (!isStalled) response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  return {
    ...(await listen(server)),
    serve(nextProvider, nextFixture) {
      reply = readFixture(nextProvider, nextFixture);
      isStalled = false;
    },
    stall() {
      isStalled = true;
    },
    count: () => count,
  };
}
