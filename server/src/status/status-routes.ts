import type { FastifyReply } from "fastify";
import type { Queryable } from "../db/pool.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import { publicProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { readStatusCounts, type StatusCounts } from "./read-status.ts";
import { statusPolicy } from "./render-status.ts";
import { encodeStatus, type StatusPage } from "./status-copy.ts";
import { statusSchema } from "./status-schema.ts";
import { summarizeStatus } from "./summarize-status.ts";

/** The page is public and made from the database, so all requests within this time get the same bytes. */
const maxAgeMs = 60_000;
/** If the database did not respond. */
const retryAfterMs = 5_000;

export interface StatusPageOptions {
  publicUrl: string;
  /** Rejects if the database does not respond. */
  readCounts: () => Promise<StatusCounts>;
  now?: () => number;
}

/** Returns the current page. Rejects only if the database has never responded. */
export function createStatusPage(options: StatusPageOptions): () => Promise<StatusPage> {
  const { publicUrl, readCounts, now = () => performance.now() } = options;
  let last: StatusCounts | undefined;
  let page: Promise<StatusPage> | undefined;
  let nextReadAt = -Infinity;

  async function read(): Promise<StatusPage> {
    let isReachable = false;
    try {
      const counts = await readCounts().catch(() => undefined);
      isReachable = counts !== undefined;
      last = counts ?? last;
    } finally {
      nextReadAt = now() + (isReachable ? maxAgeMs : retryAfterMs);
    }
    if (!last) throw new Error("the database has not responded since the start");
    return encodeStatus(summarizeStatus(last, { isReachable }), publicUrl);
  }

  return () => {
    if (!page || now() >= nextReadAt) {
      // Until the read ends.
      nextReadAt = Infinity;
      page = read();
    }
    return page;
  };
}

export function statusRoutes(readPage: () => Promise<StatusPage>): Route[] {
  const setHeaders = (reply: FastifyReply): void => {
    reply.headers({ "cache-control": "public, max-age=30", "content-security-policy": statusPolicy });
  };
  return [
    {
      method: "GET",
      path: "/status",
      operationId: "getStatusPage",
      tag: "Documents",
      summary: "Get the status page",
      description:
        "Availability and response time of the last 90 days, objectives and incidents, as an HTML page. Updated once a minute.",
      answer: "text/html",
      problems: ["ledger_unavailable", ...publicProblems],
      handle: async (_request, reply) => {
        const { html } = await readPage().catch(unavailable);
        setHeaders(reply);
        reply.type("text/html; charset=utf-8");
        return html;
      },
    },
    {
      method: "GET",
      path: "/status.json",
      operationId: "getStatus",
      tag: "Documents",
      summary: "Get the status",
      description: "The figures and incidents of the status page, as JSON. Updated once a minute.",
      answer: statusSchema,
      problems: ["ledger_unavailable", ...publicProblems],
      handle: async (_request, reply) => {
        const { json } = await readPage().catch(unavailable);
        setHeaders(reply);
        reply.type("application/json; charset=utf-8");
        return json;
      },
    },
  ];
}

/** The counts of this cell, for the page of all cells. */
export function statusCountsRoute(db: Queryable): OperatorRoute {
  return { method: "GET", path: "status", handle: () => readStatusCounts(db) };
}
