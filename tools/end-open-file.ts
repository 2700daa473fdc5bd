import { after } from "node:test";

// Loaded before every test file. A test that failed may have left a server open, which would keep its file running for
// ever; so a file ends a moment after its last test. (Node's own --test-force-exit ends it at once, and with it the
// reports that are still on their way.)
after(() => {
  setTimeout(() => process.exit(), 3_000).unref();
});
