import type { FuzzOperation } from "../fuzz-operation.ts";
import { bodyCases } from "./body-cases.ts";
import type { CostCase } from "./find-costly-cases.ts";
import { headerCases, pathCases, queryCases } from "./head-cases.ts";
import { lensCases } from "./lens-cases.ts";
import { mcp, mcpCases } from "./mcp-cases.ts";
import type { CostInput } from "./request-case.ts";
import { upstreamCases } from "./upstream-cases.ts";

/** Every part of every request, of upstream answers and of lenses that can be long. */
export function* costCases(operations: readonly FuzzOperation[]): Generator<CostCase<CostInput>> {
  const distinct = operations.filter((operation) => !isRepeatedInConsole(operation, operations));
  yield* pathCases(distinct);
  yield* headerCases(distinct);
  for (const operation of [...distinct, mcp]) {
    yield* queryCases(operation);
    yield* bodyCases(operation);
  }
  yield* mcpCases();
  yield* upstreamCases(distinct);
  yield* lensCases();
}

/** The console's routes below a wallet have the handlers of the public API. */
function isRepeatedInConsole({ method, path }: FuzzOperation, operations: readonly FuzzOperation[]): boolean {
  const repeated = path.replace("/console/api/wallets/{walletId}", "/v1");
  return repeated !== path && operations.some((other) => other.method === method && other.path === repeated);
}
