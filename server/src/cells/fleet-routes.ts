import type { FastifyRequest } from "fastify";
import type { OperatorRoute } from "../http/ops-server.ts";
import { findStart, readFindQuery } from "../operator/operator.ts";
import { Problem } from "../problems/problems.ts";
import { findInCell, readCellStatus } from "./cell-reports.ts";
import { type FleetCell, FleetFault } from "./operator-client.ts";

/** All cells, for the operator console. Each is read separately, so that one that does not respond does not delay the others. */
export function fleetRoutes(cells: readonly FleetCell[]): OperatorRoute[] {
  const findCell = ({ params }: FastifyRequest): FleetCell => {
    const { name } = params as { name: string };
    const cell = cells.find((each) => each.name === name);
    if (!cell) throw new Problem("not_found", { detail: "PENNYBLACK_FLEET lists no cell with this name." });
    return cell;
  };
  return [
    { method: "GET", path: "cells", handle: () => ({ cells: cells.map(({ name }) => ({ name })) }) },
    { method: "GET", path: "cells/:name", handle: async (request) => readCellStatus(findCell(request)) },
    { method: "GET", path: "cells/:name/find", handle: async (request) => find(findCell(request), request) },
  ];
}

/** The other cell records the view under the name of the operator whose token is used. */
async function find(cell: FleetCell, request: FastifyRequest) {
  const { text, from, to, outcome } = readFindQuery(request);
  const parameters = {
    text: findStart(text),
    ...(from && { from: from.toISOString() }),
    ...(to && { to: to.toISOString() }),
    ...(outcome !== undefined && { outcome }),
  };
  try {
    return { name: cell.name, url: cell.url, fault: null, found: await findInCell(cell, parameters) };
  } catch (error) {
    if (!(error instanceof FleetFault)) throw error;
    return { name: cell.name, url: cell.url, fault: error.message, found: null };
  }
}
