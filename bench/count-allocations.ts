import { writeFileSync } from "node:fs";
import { GCProfiler } from "node:v8";

// Put before a server with --import. From one SIGUSR2 to the next it adds up what the heap grew by between its
// collections, and leaves the sum in bytes in the file "allocated-PID" of its folder.

let counting: { profiler: GCProfiler; usedBefore: number } | undefined;

process.on("SIGUSR2", () => {
  if (counting) {
    writeFileSync(`allocated-${process.pid}`, String(allocatedSince(counting)));
    counting = undefined;
  } else {
    counting = { profiler: new GCProfiler(), usedBefore: process.memoryUsage().heapUsed };
    counting.profiler.start();
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
