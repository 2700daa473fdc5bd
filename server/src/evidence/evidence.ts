export { readRoots } from "./roots-folder.ts";
export { readSignedRoots } from "./signed-roots.ts";
export { type Difference, verifyLedger } from "./verify-ledger.ts";
