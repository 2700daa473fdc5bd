import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { readCpuTime } from "./cpu-time.ts";

// Preloaded into every test file: appends the file and the CPU time of its process to PENNYBLACK_TEST_CPU_FILE.
const output = process.env["PENNYBLACK_TEST_CPU_FILE"];
// The processes that a test starts are counted as its children.
delete process.env["PENNYBLACK_TEST_CPU_FILE"];
if (output !== undefined) {
  // A test can change the working directory.
  const file = relative(process.cwd(), process.argv[1] ?? "");
  process.on("exit", () => {
    const { own, children } = readCpuTime();
    appendFileSync(output, `${file}\t${(own + children).toFixed(2)}\n`);
  });
}
