import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Question } from "./question.ts";

// A driver that does not wait for its answers: searches are sent when they are due, however many are still out, as
// callers do who know nothing of each other. A time is counted from when a search was due and not from when it could
// be sent. It speaks HTTP by hand, because on two cores a client library would take the CPU of those who are measured.

export interface Shot {
  /** Milliseconds since the drive began. */
  dueMs: number;
  tookMs: number;
  /** 0: the connection broke. */
  status: number;
  hasRetryAfter: boolean;
}

export interface DriveOptions {
  port: number;
  keys: readonly string[];
  question: Question;
  perSecond: number;
  seconds: number;
  onShot: (shot: Shot) => void;
}

const mostConnections = 20_000;

/** Resolves when all that was sent has been answered. */
export async function driveOpenLoop(options: DriveOptions): Promise<void> {
  const { port, question, perSecond, seconds, onShot } = options;
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const requests = options.keys.map((key) => encodeRequest(key, question));
  const began = performance.now();
  const total = Math.round(perSecond * seconds);
  const count = { sent: 0, done: 0 };

  function shoot(): void {
    const dueMs = (count.sent / perSecond) * 1_000;
    const request = requests[count.sent % requests.length] ?? "";
    count.sent += 1;
    const connection = takeIdle() ?? open();
    connection.ask(request, (status, hasRetryAfter, isReusable) => {
      count.done += 1;
      onShot({ dueMs, tookMs: performance.now() - began - dueMs, status, hasRetryAfter });
      if (isReusable) idle.push(connection);
      else all.delete(connection);
    });
  }

  /** The server closes those that have been idle for long; what is written to one of them is never answered. */
  function takeIdle(): Connection | undefined {
    for (let connection = idle.pop(); connection; connection = idle.pop()) {
      if (connection.isOpen()) return connection;
      all.delete(connection);
    }
    return undefined;
  }

  function open(): Connection {
    if (all.size >= mostConnections) throw new Error(`${mostConnections} searches are out; nobody answers any more`);
    const connection = new Connection(port);
    all.add(connection);
    return connection;
  }

  while (count.sent < total) {
    // The first is due at once.
    const due = Math.min(total, Math.floor(((performance.now() - began) / 1_000) * perSecond) + 1);
    while (count.sent < due) shoot();
    await wait(1);
  }
  while (count.done < count.sent) await wait(5);
  for (const connection of all) connection.close();
}

function encodeRequest(key: string, { path, body, headers }: Question): string {
  const lines = Object.entries({
    host: "bench",
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": String(body.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

type OnAnswer = (status: number, hasRetryAfter: boolean, isReusable: boolean) => void;

/** One connection with at most one search out. */
class Connection {
  readonly #socket: Socket;
  #onAnswer: OnAnswer | undefined;
  #received = "";

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay();
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => this.#read(text));
    this.#socket.on("error", () => this.#socket.destroy());
    this.#socket.on("close", () => this.#answer(0, false, false));
  }

  ask(request: string, onAnswer: OnAnswer): void {
    this.#onAnswer = onAnswer;
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
    const isWhole = head.includes("\r\ntransfer-encoding: chunked")
      ? this.#received.endsWith("\r\n0\r\n\r\n")
      : this.#received.length >= headEnd + 4 + length;
    if (!isWhole) return;
    this.#received = "";
    const isReusable = !head.includes("connection: close");
    this.#answer(Number(head.slice(9, 12)), head.includes("\r\nretry-after: "), isReusable);
  }

  #answer(status: number, hasRetryAfter: boolean, isReusable: boolean): void {
    const onAnswer = this.#onAnswer;
    this.#onAnswer = undefined;
    onAnswer?.(status, hasRetryAfter, isReusable);
  }
}
