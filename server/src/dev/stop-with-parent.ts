import { isMainThread, Worker } from "node:worker_threads";
import { constants } from "../config/constants.ts";

// Preloaded into every process that `npm run dev` starts. If dev is killed (kill -9), the process gets SIGTERM. Its
// database may be gone too, and process.exit() can block on a log pipe without a reader, so a second thread sends
// SIGKILL after a timeout.

const timeoutMs = 3_000;

if (isMainThread) {
  // There is no load balancer to wait for.
  constants.drainMs = 0;
  new Worker(new URL(import.meta.url), { execArgv: [] }).unref();
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
} else {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) setTimeout(() => process.kill(process.pid, "SIGKILL"), timeoutMs);
  }, 500);
}
