import { after } from "node:test";

// Preloaded into every test file. A failed test may leave a server open, which would keep the process running, so exit
// shortly after the last test. Node's --test-force-exit exits immediately and can lose pending reports.
after(() => {
  setTimeout(() => process.exit(), 3_000).unref();
});
