import { abuseFaults } from "./abuse-faults.ts";
import { activityFaults } from "./activity-faults.ts";
import { applyFaults } from "./apply-faults.ts";
import { budgetFaults } from "./budget-faults.ts";
import { capFaults } from "./cap-faults.ts";
import { countingFaults } from "./counting-faults.ts";
import { dialectFaults } from "./dialect-faults.ts";
import { endUserFaults } from "./end-user-faults.ts";
import { evidenceFaults } from "./evidence-faults.ts";
import { healthFaults } from "./health-faults.ts";
import { hourFaults } from "./hour-faults.ts";
import { adminFaults, fairnessFaults, unpaidFaults } from "./isolation-faults.ts";
import { mcpFaults } from "./mcp-faults.ts";
import { plainHoldFaults } from "./plain-hold-faults.ts";
import type { PlantedFault } from "./planted-fault.ts";
import { rankingFaults } from "./ranking-faults.ts";
import { schemaFaults } from "./schema-faults.ts";
import { inputFaults, keyFaults, problemFaults, searchFaults } from "./search-faults.ts";
import { secretFaults } from "./secret-faults.ts";
import { sharingFaults } from "./sharing-faults.ts";
import { sourceFaults } from "./source-faults.ts";
import { statusFaults } from "./status-faults.ts";
import { timelineFaults } from "./timeline-faults.ts";
import { transferFaults } from "./transfer-faults.ts";
import { laneFaults, paymentFaults, walletFaults } from "./wallet-faults.ts";
import { windowFaults } from "./window-faults.ts";

export const plantedFaults: readonly PlantedFault[] = [
  ...plainHoldFaults,
  ...walletFaults,
  ...windowFaults,
  ...budgetFaults,
  ...capFaults,
  ...keyFaults,
  ...searchFaults,
  ...problemFaults,
  ...unpaidFaults,
  ...laneFaults,
  ...fairnessFaults,
  ...sharingFaults,
  ...inputFaults,
  ...paymentFaults,
  ...healthFaults,
  ...hourFaults,
  ...secretFaults,
  ...evidenceFaults,
  ...adminFaults,
  ...activityFaults,
  ...statusFaults,
  ...timelineFaults,
  ...transferFaults,
  ...endUserFaults,
  ...mcpFaults,
  ...dialectFaults,
  ...sourceFaults,
  ...applyFaults,
  ...abuseFaults,
  ...schemaFaults,
  ...countingFaults,
  ...rankingFaults,
];
