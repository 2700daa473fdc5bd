import type { Queryable } from "../db/pool.ts";
import { isFinal } from "../db/settle-batch.ts";
import type { Log } from "../telemetry/log.ts";
import { createUnheldQueue, type UnheldRequest } from "./unheld-requests.ts";

// Stores individual refusals and replays. The first one is written immediately, so that an owner who watches the console sees it; the
// next ones in a batch a moment later. A batch whose acknowledgement was lost is resent and stored once.

export interface RequestWriter {
  /** Returns false if the request is not stored individually. */
  add: (request: UnheldRequest) => boolean;
  /** Writes what is waiting. Never rejects. */
  write: () => Promise<void>;
  /** Writes a last time. Returns the requests that could not be written. */
  close: () => Promise<UnheldRequest[]>;
}

interface RequestWriterOptions {
  /** Connects as the ledger role. */
  db: Queryable;
  log: Pick<Log, "warn" | "error">;
  /** Identifies this process. */
  writer: string;
  servers?: number | undefined;
  now?: (() => number) | undefined;
  /** Called with requests that the database rejected. */
  onRejected: (requests: readonly UnheldRequest[]) => void;
}

const pauseMs = 200;
const retryMs = 1_000;

export function createRequestWriter({ db, log, writer, onRejected, ...limits }: RequestWriterOptions): RequestWriter {
  const queue = createUnheldQueue(limits);
  let unsent: UnheldRequest[] = [];
  let writing: Promise<boolean> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  /** Returns false if nothing is waiting, or if the database did not respond. */
  async function writeNext(): Promise<boolean> {
    if (unsent.length === 0) unsent = queue.take();
    if (unsent.length === 0) return false;
    const isWritten = await send(unsent);
    if (isWritten) unsent = [];
    // Until then, requests wait for the next batch.
    if (!isClosed) timer = setTimeout(resume, isWritten ? pauseMs : retryMs).unref();
    return isWritten;
  }

  async function send(requests: readonly UnheldRequest[]): Promise<boolean> {
    try {
      await db.query("select pb.write_requests($1, $2)", [writer, JSON.stringify(requests.map(toRow))]);
    } catch (err) {
      if (!isFinal(err)) {
        log.warn({ err, requests: requests.length }, "refused requests not written, will retry");
        return false;
      }
      log.error({ err }, "refused requests rejected by the database, only counted");
      onRejected(requests);
    }
    return true;
  }

  function resume(): void {
    timer = undefined;
    write().catch(() => undefined);
  }

  function write(): Promise<boolean> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeNext().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function flush(): Promise<void> {
    await writing;
    while (await write());
  }

  return {
    add(request) {
      const isAdded = queue.add(request);
      if (isAdded && !timer && !writing) resume();
      return isAdded;
    },
    write: flush,
    async close() {
      isClosed = true;
      await flush();
      return [...unsent, ...queue.take()];
    },
  };
}

function toRow({ id, walletId, keyId, mode, outcome, run, endUser, transport }: UnheldRequest) {
  return { id, wallet_id: walletId, key_id: keyId, mode, outcome, run, end_user: endUser, transport };
}
