import { dialectFaults } from "./dialect-faults.ts";
import { endUserFaults } from "./end-user-faults.ts";
import { evidenceFaults } from "./evidence-faults.ts";
import { hourFaults } from "./hour-faults.ts";
import { adminFaults, fairnessFaults, unpaidFaults } from "./isolation-faults.ts";
import { mcpFaults } from "./mcp-faults.ts";
import type { PlantedFault } from "./planted-fault.ts";
import { inputFaults, keyFaults, problemFaults, searchFaults } from "./search-faults.ts";
import { secretFaults } from "./secret-faults.ts";
import { timelineFaults } from "./timeline-faults.ts";
import { transferFaults } from "./transfer-faults.ts";
import { laneFaults, paymentFaults, walletFaults } from "./wallet-faults.ts";

export const plantedFaults: readonly PlantedFault[] = [
  ...walletFaults,
  ...keyFaults,
  ...searchFaults,
  ...problemFaults,
  ...unpaidFaults,
  ...laneFaults,
  ...fairnessFaults,
  ...inputFaults,
  ...paymentFaults,
  ...hourFaults,
  ...secretFaults,
  ...evidenceFaults,
  ...adminFaults,
  ...timelineFaults,
  ...transferFaults,
  ...endUserFaults,
  ...mcpFaults,
  ...dialectFaults,
];
