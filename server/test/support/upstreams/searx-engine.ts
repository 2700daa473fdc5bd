import { createServer } from "node:http";
import { startSearx } from "../../../src/dev/searx/start-searx.ts";
import { listen } from "../services/listen.ts";

export interface SearxEngine {
  /** The searx that uses this engine. */
  searxUrl: string;
  /** Status of the next answers of the engine; 200 has results. */
  status: number;
  /** Number of requests from searx. */
  requests: number;
  /** The answer of searx itself, without our adapter. */
  querySearx(query: string): Promise<{ status: number; results: unknown[]; unresponsive_engines: unknown[] }>;
  close(): Promise<void>;
}

/** A real searx with an engine that the test can make fail. With an index it has a second engine for that. */
export async function startSearxEngine(index?: string): Promise<SearxEngine> {
  const server = createServer((_request, response) => {
    engine.requests += 1;
    const results = [{ title: "Cats", url: "https://example.org/cats", content: "All about cats." }];
    response.writeHead(engine.status, { "content-type": "application/json" }).end(JSON.stringify({ results }));
  });
  const listening = await listen(server);
  const searx = await startSearx({ index, engineUrl: `${listening.url}/` });
  const engine: SearxEngine = {
    searxUrl: searx.url,
    status: 200,
    requests: 0,
    async querySearx(query) {
      const reply = await fetch(`${searx.url}/search?format=json&q=${encodeURIComponent(query)}`);
      const { results, unresponsive_engines } = (await reply.json()) as Awaited<ReturnType<SearxEngine["querySearx"]>>;
      return { status: reply.status, results, unresponsive_engines };
    },
    async close() {
      await searx.stop();
      await listening.close();
    },
  };
  return engine;
}
