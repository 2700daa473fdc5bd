import { connect, type Socket } from "node:net";

// Attacks with raw sockets. Each keeps `connections` open until its signal aborts, and replaces those that the server
// closes.

export interface Target {
  port: number;
  /** A valid test key, for attacks after authentication. Its searches are free. */
  testKey: string;
  connections: number;
}

export type Attack = (target: Target, signal: AbortSignal) => void;

const head = (line: string, ...headers: string[]): string =>
  `${[`${line} HTTP/1.1`, "Host: search.test", ...headers].join("\r\n")}\r\n`;

export const attacks: Record<string, Attack> = {
  "silent connections": (target, signal) => keepOpen(target, signal, () => undefined),
  "headers a byte at a time": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.write(head("GET /v1/key"));
      repeat(socket, 500, "X");
    }),
  "bodies a byte at a time": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.write(`${searchHead(target, "Content-Length: 16000")}\r\n`);
      repeat(socket, 500, " ");
    }),
  "endless bodies": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.write(`${searchHead(target, "Transfer-Encoding: chunked")}\r\n`);
      repeat(socket, 20, `400\r\n${" ".repeat(1_024)}\r\n`);
    }),
  "endless headers": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.write(head("GET /v1/key"));
      repeat(socket, 20, `X: ${"a".repeat(1_000)}\r\n`);
    }),
  "large bodies": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.write(`${searchHead(target, "Content-Length: 100000000")}\r\n`);
      repeat(socket, 20, " ".repeat(16_384));
    }),
  "unread responses": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.pause();
      socket.write(`${head("GET /openapi.json")}\r\n`.repeat(10));
    }),
  "a thousand requests at once": (target, signal) =>
    keepOpen(few(target), signal, (socket) => {
      socket.resume();
      socket.write(`${head("GET /v1/lenses")}\r\n`.repeat(1_000));
    }),
  "wrong keys": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.resume();
      repeat(socket, 500, `${head("GET /v1/key", "x-api-key: pb_live_nonsense")}\r\n`);
    }),
  "connections that are reset": (target, signal) =>
    keepOpen(target, signal, (socket) => {
      socket.write(head("GET /v1/key"));
      setTimeout(() => socket.resetAndDestroy(), 50);
    }),
  "bytes that are not HTTP": (target, signal) =>
    keepOpen(target, signal, (socket) => void socket.write("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(50))),
};

/** For attacks that are cheap to send and expensive to reject. */
function few(target: Target): Target {
  return { ...target, connections: Math.ceil(target.connections / 20) };
}

function searchHead({ testKey }: Target, lengthLine: string): string {
  return head("POST /v1/search", `x-api-key: ${testKey}`, "Content-Type: application/json", lengthLine);
}

function keepOpen({ port, connections }: Target, signal: AbortSignal, onConnect: (socket: Socket) => void): void {
  function open(): void {
    if (signal.aborted) return;
    const socket = connect({ port, host: "127.0.0.1" });
    const stop = (): void => void socket.destroy();
    signal.addEventListener("abort", stop, { once: true });
    socket.on("error", stop);
    socket.once("connect", () => onConnect(socket));
    socket.on("end", stop);
    socket.once("close", () => {
      signal.removeEventListener("abort", stop);
      // After a delay: a connection flood is for a proxy to block.
      setTimeout(open, 1_000);
    });
  }
  for (let count = 0; count < connections; count += 1) open();
}

function repeat(socket: Socket, everyMs: number, bytes: string): void {
  const timer = setInterval(() => {
    if (!socket.writableNeedDrain) socket.write(bytes);
  }, everyMs);
  socket.once("close", () => clearInterval(timer));
}
