import { writeFileSync } from "node:fs";
import { GCProfiler } from "node:v8";

// Preloaded into a server with --import. From one SIGUSR2 to the next it sums the heap growth between garbage
// collections, and writes the total in bytes to the file "allocated-PID" in its working directory.

let active: { profiler: GCProfiler; usedBefore: number } | undefined;

process.on("SIGUSR2", () => {
  if (active) {
    writeFileSync(`allocated-${process.pid}`, String(allocatedSince(active)));
    active = undefined;
  } else {
    active = { profiler: new GCProfiler(), usedBefore: process.memoryUsage().heapUsed };
    active.profiler.start();
  }
});

function allocatedSince({ profiler, usedBefore }: { profiler: GCProfiler; usedBefore: number }): number {
  let [bytes, used] = [0, usedBefore];
  for (const { beforeGC, afterGC } of profiler.stop().statistics) {
    bytes += Math.max(0, beforeGC.heapStatistics.usedHeapSize - used);
    used = afterGC.heapStatistics.usedHeapSize;
  }
  return bytes + Math.max(0, process.memoryUsage().heapUsed - used);
}
