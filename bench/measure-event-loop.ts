import { writeFileSync } from "node:fs";

// Preloaded into a server with --import. From one SIGUSR2 to the next it measures how late a timer fires, and writes the
// delays in milliseconds as JSON to the file "event-loop-PID" in its working directory.

const intervalMs = 5;
let active: { timer: NodeJS.Timeout; delaysMs: number[] } | undefined;

process.on("SIGUSR2", () => {
  if (active) {
    clearInterval(active.timer);
    writeFileSync(`event-loop-${process.pid}`, JSON.stringify(active.delaysMs));
    active = undefined;
  } else active = start();
});

function start(): NonNullable<typeof active> {
  const delaysMs: number[] = [];
  let lastAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    delaysMs.push(Math.max(0, now - lastAt - intervalMs));
    lastAt = now;
  }, intervalMs);
  return { timer, delaysMs };
}
