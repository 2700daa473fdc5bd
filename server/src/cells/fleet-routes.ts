import type { OperatorRoute } from "../http/ops-server.ts";
import { Problem } from "../problems/problems.ts";
import { readCellStatus } from "./cell-reports.ts";
import type { FleetCell } from "./operator-client.ts";

/** All cells, for the operator console. Each is read on its own, so that one that does not respond delays no other. */
export function fleetRoutes(cells: readonly FleetCell[]): OperatorRoute[] {
  return [
    { method: "GET", path: "cells", handle: () => ({ cells: cells.map(({ name }) => ({ name })) }) },
    {
      method: "GET",
      path: "cells/:name",
      handle: async (request) => {
        const { name } = request.params as { name: string };
        const cell = cells.find((each) => each.name === name);
        if (!cell) throw new Problem("not_found", { detail: "PENNYBLACK_FLEET lists no cell with this name." });
        return readCellStatus(cell);
      },
    },
  ];
}
