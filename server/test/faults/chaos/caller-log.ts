import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import type { JournalEntry, Seen } from "../journal.ts";

// What our clients saw, line by line in a file: a million of them do not fit in the memory of anyone who should do
// something else as well.

export interface CallerLine extends JournalEntry {
  sentAt: number;
  endedAt: number;
  server: number;
  /** What sort of caller it was, and how far it got if it left by itself. */
  note: string;
}

export interface CallerLog {
  write(line: CallerLine): void;
  /** Everything written so far, in order. */
  read(): AsyncIterable<CallerLine>;
  flush(): Promise<void>;
  close(): Promise<void>;
}

export function openCallerLog(file: string): CallerLog {
  const stream = createWriteStream(file, { highWaterMark: 1 << 20 });
  return {
    write: (line) => void stream.write(`${encode(line)}\n`),
    flush: () =>
      new Promise((resolve) => {
        stream.write("", () => resolve());
      }),
    async *read() {
      for await (const text of createInterface({ input: createReadStream(file) })) yield decode(text);
    },
    async close() {
      stream.end();
      await once(stream, "close");
    },
  };
}

function encode({ walletId, idempotencyKey, seen, sentAt, endedAt, server, note }: CallerLine): string {
  const facts =
    seen.kind === "answered"
      ? [seen.status, seen.code ?? "", seen.requestId, seen.charge, seen.isReplayed ? 1 : 0, seen.text]
      : ["", "", "", "", "", ""];
  return [
    walletId,
    idempotencyKey ?? "",
    seen.kind,
    ...facts,
    Math.round(sentAt),
    Math.round(endedAt),
    server,
    note,
  ].join("\t");
}

function decode(text: string): CallerLine {
  const [
    walletId = "",
    key = "",
    kind = "",
    status,
    code,
    requestId = "",
    charge = "",
    replayed,
    answer = "",
    sentAt,
    endedAt,
    server,
    note = "",
  ] = text.split("\t");
  const seen: Seen =
    kind === "answered"
      ? {
          kind,
          status: Number(status),
          code: code || undefined,
          requestId,
          charge,
          isReplayed: replayed === "1",
          text: answer,
        }
      : { kind: kind as "closed" | "refused" };
  return {
    walletId,
    idempotencyKey: key || undefined,
    seen,
    sentAt: Number(sentAt),
    endedAt: Number(endedAt),
    server: Number(server),
    note,
  };
}
