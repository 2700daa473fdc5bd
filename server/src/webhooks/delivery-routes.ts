import { Type } from "typebox";
import { paginate } from "../http/input/paginate.ts";
import { noSuchResource, type Resource, readPathId } from "../http/input/path-id.ts";
import { pageQuery, readQuery, toCursor } from "../http/input/query-parameters.ts";
import { managementProblems, nextCursor, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import { type DeliveryView, listDeliveries, replayDelivery, testEndpoint } from "./deliveries.ts";
import { endpointResource, readId, type WebhookRouteDependencies } from "./webhook-routes.ts";

const scope = "webhooks:write";
const uuid = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });
const orNull = (schema: typeof time, description: string) => Type.Union([schema, Type.Null()], { description });

const deliverySchema = Type.Object(
  {
    id: uuid,
    endpoint_id: uuid,
    event: Type.Object({ id: uuid, type: Type.String(), created_at: time }, { title: "DeliveryEvent" }),
    status: Type.Enum(["pending", "delivered", "failed"]),
    attempts: Type.Integer(),
    response_status: Type.Union([Type.Integer(), Type.Null()], {
      description: "HTTP status of the last response.",
    }),
    error: orNull(
      Type.String(),
      "Why the last attempt failed: status, redirect, timeout, unreachable, private_address (no public address is known), not_https, endpoint_disabled.",
    ),
    last_attempt_at: orNull(time, "Time of the last attempt."),
    next_attempt_at: orNull(time, "Time of the next attempt, while the delivery is pending."),
    created_at: time,
  },
  { title: "Delivery" },
);

const deliveriesSchema = Type.Object(
  {
    deliveries: Type.Array(deliverySchema),
    next_cursor: nextCursor,
  },
  { title: "DeliveryList" },
);

export function deliveryRoutes({ tenant, guard, limitDeliveries }: WebhookRouteDependencies): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/:id/deliveries",
      scope,
      operationId: "listDeliveries",
      tag: "Webhooks",
      summary: "List deliveries",
      description: "Returns the deliveries of the last 30 days, newest first, with their status and next attempt.",
      query: pageParameters,
      answer: deliveriesSchema,
      problems: ["not_found", "invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await guard(request, reply, scope);
        const endpointId = readId(request);
        const { cursor, limit } = readQuery(request.query, pageQuery);
        const query = { endpointId, before: cursor, limit: limit + 1 };
        const found = await listDeliveries(tenant, walletId, query).catch(unavailable);
        if (!found) throw noSuchResource(endpointResource);
        const page = paginate(found, limit, (last) => toCursor(last.id));
        return { deliveries: page.rows.map(serializeDelivery), next_cursor: page.nextCursor };
      },
    },
    {
      method: "POST",
      path: "/v1/webhooks/:id/test",
      scope,
      operationId: "testWebhook",
      tag: "Webhooks",
      summary: "Send a test event",
      description: "Queues a `webhook.test` event for this endpoint, even if it is disabled.",
      answer: deliverySchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await guard(request, reply, scope);
        await limitDeliveries(walletId);
        const delivery = await testEndpoint(tenant, walletId, readId(request)).catch(unavailable);
        if (!delivery) throw noSuchResource(endpointResource);
        return serializeDelivery(delivery);
      },
    },
    {
      method: "POST",
      path: "/v1/webhooks/deliveries/:id/replay",
      scope,
      operationId: "replayDelivery",
      tag: "Webhooks",
      summary: "Replay a delivery",
      description: "Queues a new delivery of the same event, with the same event id, to the same endpoint.",
      answer: deliverySchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await guard(request, reply, scope);
        const id = readPathId(request.params, deliveryResource);
        await limitDeliveries(walletId);
        const delivery = await replayDelivery(tenant, walletId, id).catch(unavailable);
        if (!delivery) throw noSuchResource(deliveryResource);
        return serializeDelivery(delivery);
      },
    },
  ];
}

const deliveryResource: Resource = { name: "delivery", list: "GET /v1/webhooks/:id/deliveries" };

function serializeDelivery(delivery: DeliveryView) {
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
