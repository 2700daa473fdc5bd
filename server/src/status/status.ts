export { type Impact, impacts, openIncident, readIncidents, updateIncident } from "./incidents.ts";
export { countStatus, readStatusCounts, statusCountsSchema } from "./read-status.ts";
export { encodeStatus, startStatusCopy, writeStatusFiles } from "./status-copy.ts";
export { createStatusPage, statusCountsRoute, statusRoutes } from "./status-routes.ts";
export { summarizeCells } from "./summarize-status.ts";
