import { hash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, type WriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { type Outcome, type SearchRequest, sendSearch } from "./send-search.ts";

// The outcome of every search as its client saw it. audit.ts compares it with the ledger. It is a file of JSON lines,
// because a million entries do not fit into memory.

/** The part of an entry that the audit compares. */
export interface SearchRecord {
  walletId: string;
  idempotencyKey?: string | undefined;
  outcome: Outcome;
}

export interface JournalEntry extends SearchRecord {
  sentAt: number;
  endedAt: number;
  serverUrl: string;
  /** The stage at which the caller disconnected, if it did. */
  disconnected?: string;
}

export class Journal {
  readonly #file: string;
  readonly #stream: WriteStream;

  constructor(file: string) {
    this.#file = file;
    this.#stream = createWriteStream(file, { highWaterMark: 1 << 20 });
  }

  /** Sends a search once and records the outcome. */
  async search(serverUrl: string, request: SearchRequest, timeoutMs?: number): Promise<Outcome> {
    const sentAt = Date.now();
    const outcome = await sendSearch(serverUrl, request, timeoutMs);
    this.record({ serverUrl, request, outcome, sentAt });
    return outcome;
  }

  record({ request, outcome, ...rest }: Omit<JournalEntry, keyof SearchRecord | "endedAt"> & Sent): void {
    const { wallet, idempotencyKey } = request;
    // Responses are only compared with each other, for which a hash is sufficient.
    const hashed =
      outcome.kind === "answered" ? { ...outcome, text: hash("sha256", outcome.text, "base64").slice(0, 22) } : outcome;
    const entry = { walletId: wallet.walletId, idempotencyKey, outcome: hashed, ...rest, endedAt: Date.now() };
    this.#stream.write(`${JSON.stringify(entry satisfies JournalEntry)}\n`);
  }

  /** All entries so far, in order. */
  async *read(): AsyncGenerator<JournalEntry> {
    await new Promise<void>((flushed) => {
      this.#stream.write("", () => flushed());
    });
    for await (const line of createInterface({ input: createReadStream(this.#file) }))
      yield JSON.parse(line) as JournalEntry;
  }

  async close(): Promise<void> {
    this.#stream.end();
    await once(this.#stream, "close");
  }
}

interface Sent {
  request: SearchRequest;
  outcome: Outcome;
}
