import { once } from "node:events";
import { connect, type Socket } from "node:net";

// Raw HTTP for requests that no client would send: repeated header lines, incomplete requests, malformed HTTP.

export interface RawAnswer {
  status: number;
  headers: Headers;
  text: string;
}

export interface RawConnection {
  socket: Socket;
  write(bytes: string | Buffer): void;
  /** The next answer that is not a 1xx. Fails if the connection ends before it is complete. */
  answer(options?: { hasBody?: boolean }): Promise<RawAnswer>;
  /** Resolves when the connection is closed, with the bytes that were not read as an answer. */
  closed: Promise<string>;
}

export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received: Buffer = Buffer.alloc(0);
  let isClosed = false;
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
  });
  // A reset counts as closed.
  socket.on("error", () => socket.destroy());
  const closed = once(socket, "close").then(() => {
    isClosed = true;
    return received.toString("latin1");
  });
  await once(socket, "connect");

  async function answer({ hasBody = true } = {}): Promise<RawAnswer> {
    for (;;) {
      const found = takeAnswer(received, hasBody);
      if (found) {
        received = found.rest;
        if (found.answer.status >= 200) return found.answer;
      } else if (isClosed) {
        throw new Error(`the connection ended before the answer: ${received.toString("latin1").slice(0, 200)}`);
      } else {
        await Promise.race([once(socket, "data"), closed]);
      }
    }
  }

  return { socket, closed, answer, write: (bytes) => void socket.write(bytes) };
}

/** Sends one request on a new connection and reads its answer. */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const connection = await openRaw(url);
  try {
    connection.write(bytes);
    return await connection.answer({ hasBody: !bytes.toString("latin1").startsWith("HEAD") });
  } finally {
    connection.socket.destroy();
  }
}

/** The text of a request. Header lines are sent as given, in their order. */
export function rawRequest(line: string, headerLines: readonly string[], body = ""): string {
  const hasLength = headerLines.some((header) => /^(content-length|transfer-encoding):/i.test(header));
  const length = body === "" || hasLength ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return `${[`${line} HTTP/1.1`, "Host: search.test", ...headerLines, ...length].join("\r\n")}\r\n\r\n${body}`;
}

/** A search; further header lines are added. */
export function rawSearch(key: string, body = '{"query":"cats"}', ...headerLines: string[]): string {
  return rawRequest("POST /v1/search", [`x-api-key: ${key}`, "Content-Type: application/json", ...headerLines], body);
}

function takeAnswer(received: Buffer, hasBody: boolean): { answer: RawAnswer; rest: Buffer } | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [statusLine = "", ...lines] = received.subarray(0, headEnd).toString("latin1").split("\r\n");
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
  const status = Number(statusLine.split(" ")[1]);
  const length = hasBody ? Number(headers.get("content-length") ?? 0) : 0;
  const end = headEnd + 4 + length;
  if (received.length < end) return undefined;
  return {
    answer: { status, headers, text: received.subarray(headEnd + 4, end).toString() },
    rest: received.subarray(end),
  };
}
