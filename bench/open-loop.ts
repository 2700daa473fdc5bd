import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

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
  perSecond: number;
  seconds: number;
  onShot: (shot: Shot) => void;
}

const mostConnections = 20_000;

/** Resolves when all that was sent has been answered. */
export async function driveOpenLoop({ port, keys, perSecond, seconds, onShot }: DriveOptions): Promise<void> {
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const requests = keys.map(encodeRequest);
  const began = performance.now();
  const total = Math.round(perSecond * seconds);
  const count = { sent: 0, done: 0 };

  function shoot(): void {
    const dueMs = (count.sent / perSecond) * 1_000;
    const request = requests[count.sent % requests.length] ?? "";
    count.sent += 1;
    const connection = idle.pop() ?? open();
    connection.ask(request, (status, hasRetryAfter, isReusable) => {
      count.done += 1;
      onShot({ dueMs, tookMs: performance.now() - began - dueMs, status, hasRetryAfter });
      if (isReusable) idle.push(connection);
      else all.delete(connection);
    });
  }

  function open(): Connection {
    if (all.size >= mostConnections) throw new Error(`${mostConnections} searches are out; nobody answers any more`);
    const connection = new Connection(port);
    all.add(connection);
    return connection;
  }

  while (count.sent < total) {
    const due = Math.min(total, Math.floor(((performance.now() - began) / 1_000) * perSecond));
    while (count.sent < due) shoot();
    await wait(1);
  }
  while (count.done < count.sent) await wait(5);
  for (const connection of all) connection.close();
}

function encodeRequest(key: string): string {
  const body = JSON.stringify({ query: "advisory locks" });
  return `POST /v1/search HTTP/1.1\r\nhost: bench\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
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

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd).toLowerCase();
    const length = Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
    if (this.#received.length < headEnd + 4 + length) return;
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
