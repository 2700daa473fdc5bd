import { connect, type Socket } from "node:net";
import type { BenchRequest } from "./bench-request.ts";

// Implements HTTP directly, because on two cores a client library would take CPU time from the servers under test.

export function encodeRequest(key: string, { path, body, headers }: BenchRequest): string {
  const lines = Object.entries({
    host: "bench",
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": String(body.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

type OnResponse = (status: number, hasRetryAfter: boolean, isReusable: boolean) => void;

/** A connection with at most one request in flight. */
export class Connection {
  readonly #socket: Socket;
  #onAnswer: OnResponse | undefined;
  #received = "";

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay();
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => this.#read(text));
    this.#socket.on("error", () => this.#socket.destroy());
    this.#socket.on("close", () => this.#answer(0, false, false));
  }

  send(request: string, onResponse: OnResponse): void {
    this.#onAnswer = onResponse;
    this.#socket.write(request);
  }

  isOpen(): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded;
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd).toLowerCase();
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
    const isComplete = head.includes("\r\ntransfer-encoding: chunked")
      ? this.#received.endsWith("\r\n0\r\n\r\n")
      : this.#received.length >= headEnd + 4 + length;
    if (!isComplete) return;
    this.#received = "";
    const isReusable = !head.includes("connection: close");
    this.#answer(Number(head.slice(9, 12)), head.includes("\r\nretry-after: "), isReusable);
  }

  #answer(status: number, hasRetryAfter: boolean, isReusable: boolean): void {
    const onResponse = this.#onAnswer;
    this.#onAnswer = undefined;
    onResponse?.(status, hasRetryAfter, isReusable);
  }
}
