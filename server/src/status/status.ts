export { type Impact, impacts, openIncident, readIncidents, updateIncident } from "./incidents.ts";
export { countStatus, readStatusCounts } from "./read-status.ts";
export { createStatusPage, statusCountsRoute, statusRoutes } from "./status-routes.ts";
