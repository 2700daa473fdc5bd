import { Type } from "typebox";
import { cutPage } from "../http/cut-page.ts";
import { readCursor, readLimit, readParameters, toCursor } from "../http/query-parameters.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { Problem } from "../problems.ts";
import { type DeliveryView, listDeliveries, replayDelivery, testEndpoint } from "./deliveries.ts";
import { readId, type WebhookRouteParts } from "./webhook-routes.ts";

const scope = "webhooks:write";
const uuid = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });
const orNull = (schema: typeof time, description: string) => Type.Union([schema, Type.Null()], { description });

const deliverySchema = Type.Object(
  {
    id: uuid,
    endpoint_id: uuid,
    event: Type.Object({ id: uuid, type: Type.String(), created_at: time }),
    status: Type.Enum(["pending", "delivered", "failed"]),
    attempts: Type.Integer(),
    response_status: Type.Union([Type.Integer(), Type.Null()], { description: "What the receiver answered last." }),
    error: orNull(
      Type.String(),
      "Why the last attempt failed: status, redirect, timeout, unreachable, private_address, not_https, endpoint_disabled.",
    ),
    last_attempt_at: orNull(time, "When it was last tried."),
    next_attempt_at: orNull(time, "When it is tried next, while it is pending."),
    created_at: time,
  },
  { title: "WebhookDelivery" },
);

const deliveriesSchema = Type.Object(
  {
    deliveries: Type.Array(deliverySchema),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "WebhookDeliveries" },
);

export function deliveryRoutes({ tenant, enter }: WebhookRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/:id/deliveries",
      scope,
      summary: "List an endpoint's deliveries",
      description: "Newest first, of the last thirty days: what was sent, what came of it, and when it is tried next.",
      query: {
        cursor: Type.String({ description: "From `next_cursor` of the page before." }),
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
      },
      answer: deliveriesSchema,
      problems: ["not_found", "invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        const endpointId = readId(request);
        const { cursor, limit } = readParameters(request.query, ["cursor", "limit"]);
        const [before, most] = [readCursor(cursor), readLimit(limit, { usual: 50, most: 100 })];
        // One more than asked for tells whether there is a next page.
        const wanted = { endpointId, before, most: most + 1 };
        const found = await listDeliveries(tenant, walletId, wanted).catch(unavailable);
        if (!found) throw new Problem("not_found");
        const { rows, nextCursor } = cutPage(found, most, (last) => toCursor(last.id));
        return { deliveries: rows.map(showDelivery), next_cursor: nextCursor };
      },
    },
    {
      method: "POST",
      path: "/v1/webhooks/:id/test",
      scope,
      summary: "Send a test event",
      description: "Queues an event of the type `webhook.test` for this endpoint alone, also if it is disabled.",
      answer: deliverySchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        return showFound(await testEndpoint(tenant, walletId, readId(request)).catch(unavailable));
      },
    },
    {
      method: "POST",
      path: "/v1/webhooks/deliveries/:id/replay",
      scope,
      summary: "Send a delivery again",
      description:
        "Queues the same event, with the same id, for the same endpoint once more: a new delivery, whatever became of the first.",
      answer: deliverySchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        return showFound(await replayDelivery(tenant, walletId, readId(request)).catch(unavailable));
      },
    },
  ];
}

function showFound(found: DeliveryView | undefined) {
  if (!found) throw new Problem("not_found");
  return showDelivery(found);
}

function showDelivery(delivery: DeliveryView) {
  return {
    id: delivery.id,
    endpoint_id: delivery.endpointId,
    event: { id: delivery.eventId, type: delivery.eventType, created_at: delivery.eventAt.toISOString() },
    status: delivery.state,
    attempts: delivery.attempts,
    response_status: delivery.responseStatus,
    error: delivery.error,
    last_attempt_at: delivery.lastAttemptAt?.toISOString() ?? null,
    next_attempt_at: delivery.state === "pending" ? delivery.dueAt.toISOString() : null,
    created_at: delivery.createdAt.toISOString(),
  };
}
