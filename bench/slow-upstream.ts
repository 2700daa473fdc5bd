import { createServer } from "node:http";

// An upstream with a fixed latency and almost no CPU use, in SearXNG's format: `node slow-upstream.ts <port> <ms>`.

const [port, latencyMs] = process.argv.slice(2).map(Number);

const results = Array.from({ length: 10 }, (_, index) => ({
  url: `https://www.example-${index}.org/docs/15/explicit-locking.html`,
  title: `PostgreSQL: Documentation: 15: 13.${index}. Explicit Locking`,
  content: "PostgreSQL provides a means for creating locks that have application-defined meanings.",
  engine: "slow",
}));
const body = Buffer.from(JSON.stringify({ results }));
const headers = { "content-type": "application/json", "content-length": body.length };

const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
  setTimeout(() => response.writeHead(200, headers).end(body), latencyMs);
});
server.on("connection", (socket) => socket.on("error", () => socket.destroy()));
server.listen(port, "127.0.0.1");
