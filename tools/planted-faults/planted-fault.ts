/** A small mistake that a developer could make, and the test that must catch it. */
export interface PlantedFault {
  /** Unique. Selects the fault: `npm run planted-faults -- --only <id>,<id>`. */
  id: string;
  description: string;
  file: string;
  /** Must occur in the file exactly once. A stale fault is reported, not skipped. */
  find: string;
  replace: string;
  /** The test file to run, as an argument of `npm test --`, and the test that must fail. */
  tests: string[];
  caughtBy: string;
}
