import { createServer } from "node:http";

// An upstream with latency and almost no CPU use, in SearXNG's format: `node slow-upstream.ts <port> <ms> [<p99 ms>]`. The
// latency is fixed, or log-normal with the first value as its median.

const [port, medianMs = 0, p99Ms = medianMs] = process.argv.slice(2).map(Number);

/** Longer responses would exceed our deadline for headers, and the search would fail. */
const maxMs = 8_000;
/** The 99th percentile of the standard normal distribution. */
const normalP99 = 2.326;
const sigma = Math.log(p99Ms / medianMs) / normalP99;

const results = Array.from({ length: 10 }, (_, index) => ({
  url: `https://www.example-${index}.org/docs/15/explicit-locking.html`,
  title: `PostgreSQL: Documentation: 15: 13.${index}. Explicit Locking`,
  content: "PostgreSQL provides a means for creating locks that have application-defined meanings.",
  engine: "slow",
}));
const body = Buffer.from(JSON.stringify({ results }));
const headers = { "content-type": "application/json", "content-length": body.length };

const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
  setTimeout(() => response.writeHead(200, headers).end(body), nextLatencyMs());
});
server.on("connection", (socket) => socket.on("error", () => socket.destroy()));
server.listen(port, "127.0.0.1");

function nextLatencyMs(): number {
  return Math.min(maxMs, medianMs * Math.exp(sigma * nextNormal()));
}

/** Box-Muller transform. */
function nextNormal(): number {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}
