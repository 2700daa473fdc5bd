import { isMainThread, Worker } from "node:worker_threads";

// Loaded into every process that `npm run dev` starts: when dev is gone without a word (kill -9), so are they. They
// are asked first. But their database may be gone as well, and process.exit() waits for good on a log that nobody
// reads any more, so a second thread, which nothing can hold up, has the last word.

const patienceMs = 3_000;

if (isMainThread) {
  new Worker(new URL(import.meta.url), { execArgv: [] }).unref();
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
} else {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) setTimeout(() => process.kill(process.pid, "SIGKILL"), patienceMs);
  }, 500);
}
