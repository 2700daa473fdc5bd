// Flaky-test policy. Only these files and folders may be retried alone after a failure in a full run: they drive a browser,
// containers or a benchmark, or compare response times, and can exceed a time limit on a busy machine. Everything else must
// pass the first time, because a failure that a retry hides can be a race in the ledger, in payments or in a search.
const retryableFolders = [
  "bench/",
  "deploy/image/",
  "examples/",
  "server/test/console/",
  "server/test/fairness/fairness.",
];

/** `text` is the file's source. Property-based tests use new random data in each run, so a retry would hide the failure. */
export function mayRetry(file: string, text: string): boolean {
  return retryableFolders.some((folder) => file.startsWith(folder)) && !text.includes('"fast-check"');
}
