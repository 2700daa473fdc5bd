import { connect, type Socket } from "node:net";
import type { Input, Mutation } from "./inputs.ts";

// Encodes requests and parses responses. Client libraries cannot send most of these.

export interface WireAnswer {
  status: number;
  /** The response head in lower case. */
  head: string;
  body: Buffer;
}

export function headerOf(answer: WireAnswer, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: ?([^\\r]*)`).exec(answer.head)?.[1];
}

/** The bytes of an input whose placeholders were replaced. */
export function renderInput(input: Input): Buffer {
  const headers = ["Host: search.test", ...input.headers.map(([name, value]) => `${name}: ${legalValue(value)}`)];
  const body = typeof input.body === "string" ? Buffer.from(input.body) : Buffer.from(input.body ?? []);
  if (input.chunks) headers.push("Transfer-Encoding: chunked");
  else if (input.body !== undefined) headers.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${input.method} ${input.target} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`, "latin1");
  const whole = Buffer.concat([head, input.chunks ? inChunks(body, input.chunks) : body]);
  return input.mutation ? mutateBytes(whole, input.mutation) : whole;
}

/** Removes line ends and characters that HTTP forbids; only mutations send those. */
function legalValue(value: string): string {
  if (/^[ -~]*$/.test(value)) return value;
  // oxlint-disable-next-line no-control-regex -- control characters are removed.
  return Buffer.from(value.replaceAll(/[\u0000-\u0008\u000a-\u001f\u007f]/g, "")).toString("latin1");
}

function inChunks(body: Buffer, sizes: readonly number[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < body.length; index += 1) {
    const chunk = body.subarray(at, at + (sizes[index % Math.max(1, sizes.length)] ?? body.length));
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n"));
    at += chunk.length;
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

function mutateBytes(bytes: Buffer, mutation: Mutation): Buffer {
  const at = "at" in mutation ? Math.floor(mutation.at * bytes.length) : 0;
  switch (mutation.kind) {
    case "cut":
      return bytes.subarray(0, at);
    case "double":
      return Buffer.concat([bytes.subarray(0, at), bytes]);
    case "insert":
      return Buffer.concat([bytes.subarray(0, at), mutation.bytes, bytes.subarray(at)]);
    case "flip": {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ mutation.mask;
      return copy;
    }
    case "line":
      return afterFirstLine(bytes, (first, rest) => [first, Buffer.from(`${mutation.line}\r\n`, "latin1"), rest]);
    case "first line":
      return afterFirstLine(bytes, (_first, rest) => [Buffer.from(`${mutation.line}\r\n`, "latin1"), rest]);
    case "bare line feeds":
      return Buffer.from(bytes.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
    case "pipelined":
      return Buffer.concat(Array.from({ length: mutation.times }, () => bytes));
  }
}

function afterFirstLine(bytes: Buffer, change: (first: Buffer, rest: Buffer) => Buffer[]): Buffer {
  const end = bytes.indexOf("\r\n") + 2;
  return Buffer.concat(change(bytes.subarray(0, end), bytes.subarray(end)));
}

/** Removes the first complete response. A body without a length ends with the connection. */
function takeAnswer(
  received: Buffer,
  { hasBody, isClosed }: { hasBody: boolean; isClosed: boolean },
): { answer: WireAnswer; rest: Buffer } | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = received.toString("latin1", 0, headEnd).toLowerCase();
  const status = Number(head.slice(9, 12));
  const bodyAt = headEnd + 4;
  const answer = (end: number) => ({
    answer: { status, head, body: received.subarray(bodyAt, end) },
    rest: received.subarray(end),
  });
  if (!hasBody || status < 200 || status === 204 || status === 304) return answer(bodyAt);
  const length = /\r\ncontent-length: (\d+)/.exec(head)?.[1];
  if (length !== undefined) {
    const end = bodyAt + Number(length);
    return received.length < end ? undefined : answer(end);
  }
  if (head.includes("\r\ntransfer-encoding: chunked")) {
    const end = received.indexOf("\r\n0\r\n\r\n", headEnd);
    return end < 0 ? undefined : answer(end + 7);
  }
  return isClosed ? answer(received.length) : undefined;
}

export type Exchange =
  | { kind: "answered"; answers: WireAnswer[] }
  | { kind: "closed" }
  | { kind: "hung"; received: string };

/** Sends one request after another on one connection. */
export interface WireLane {
  send(bytes: Buffer, hasBody: boolean): Promise<Exchange>;
  close(): void;
}

export function openLane(port: number, timeoutMs: number): WireLane {
  let socket: Socket | undefined;

  async function send(bytes: Buffer, hasBody: boolean): Promise<Exchange> {
    if (socket?.destroyed || socket?.readableEnded) socket = undefined;
    const isFresh = socket === undefined;
    socket ??= dial(port);
    const current = socket;
    const exchange = await exchangeOn(current, bytes, { hasBody, isLast: false, timeoutMs });
    const isOver = exchange.kind !== "answered" || exchange.answers.some(closesConnection);
    if (isOver) {
      current.destroy();
      socket = undefined;
    }
    // The server may close an idle connection while a request is in flight; the request is then sent again.
    if (exchange.kind === "closed" && !isFresh) return send(bytes, hasBody);
    return exchange;
  }
  return { send, close: () => void socket?.destroy() };
}

function closesConnection(answer: WireAnswer): boolean {
  return answer.head.includes("\r\nconnection: close");
}

/** Uses a separate connection, half-closes it after the bytes, and returns all responses. */
export async function sendAlone(port: number, bytes: Buffer, timeoutMs: number): Promise<Exchange> {
  const socket = dial(port);
  const hasBody = !bytes.subarray(0, 4).equals(Buffer.from("HEAD"));
  const exchange = await exchangeOn(socket, bytes, { hasBody, isLast: true, timeoutMs });
  socket.destroy();
  return exchange;
}

function dial(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  // A reset counts as closed.
  return socket.on("error", () => socket.destroy());
}

interface ExchangeOptions {
  hasBody: boolean;
  /** No request follows: wait until the server closes, and read every response. */
  isLast: boolean;
  timeoutMs: number;
}

function exchangeOn(socket: Socket, bytes: Buffer, { hasBody, isLast, timeoutMs }: ExchangeOptions): Promise<Exchange> {
  return new Promise((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    const answers: WireAnswer[] = [];
    const timer = setTimeout(() => finish({ kind: "hung", received: received.toString("latin1", 0, 500) }), timeoutMs);

    function take(isClosed: boolean): void {
      for (;;) {
        const found = takeAnswer(received, { hasBody, isClosed });
        if (!found) return;
        received = found.rest;
        if (found.answer.status >= 200) answers.push(found.answer);
        if (!isLast && answers.length > 0) return finish({ kind: "answered", answers });
      }
    }
    function onData(chunk: Buffer): void {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      take(false);
    }
    function onEnd(): void {
      take(true);
      finish(answers.length > 0 ? { kind: "answered", answers } : { kind: "closed" });
    }
    function finish(exchange: Exchange): void {
      clearTimeout(timer);
      socket.off("data", onData).off("end", onEnd).off("close", onEnd);
      resolve(exchange);
    }
    socket.on("data", onData).on("end", onEnd).on("close", onEnd);
    if (isLast) socket.end(bytes);
    else socket.write(bytes);
  });
}
