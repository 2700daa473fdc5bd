import { randomUUIDv7 } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { externalId, externalIdFault } from "../http/input/external-id.ts";
import { fieldFault, invalidInput } from "../http/input/faults.ts";
import { noSuchResource, type Resource, readPathId } from "../http/input/path-id.ts";
import { jsonReader } from "../http/input/read-json.ts";
import { bodyProblems, managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard } from "../keys/keys.ts";
import type { Secrets } from "../lib/secrets.ts";
import type { CountUse } from "../limits/window-limit.ts";
import { Problem } from "../problems/problems.ts";
import { findUrlError } from "./check-url.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  type Endpoint,
  type EndpointOutcome,
  listEndpoints,
  maxEndpoints,
  readEndpoint,
  rotateSecret,
} from "./endpoints.ts";
import { eventTypes } from "./event-types.ts";
import { mintWebhookSecret, sealSecret } from "./webhook-secret.ts";

export interface WebhookRouteDependencies {
  tenant: Pool;
  guard: Guard;
  /** Seals the endpoints' secrets. */
  secrets: Secrets;
  allowPrivate: boolean;
  /** Counts a test event or a replay of a wallet. */
  limitDeliveries: CountUse;
}

const scope = "webhooks:write";
const time = Type.String({ format: "date-time" });
const maybeTime = (description: string) => Type.Union([time, Type.Null()], { description });

const events = Type.Array(Type.Enum([...eventTypes], { title: "EventType" }), {
  minItems: 1,
  maxItems: eventTypes.length,
  uniqueItems: true,
});
const url = Type.String({ maxLength: 2048, description: "An https URL on the public internet." });
const description = Type.String({ maxLength: 200, description: "For your own use." });
const external_id = externalId("webhooks of the wallet");
const secret = Type.String({ description: "Signing secret. Shown only once." });

const endpoint = {
  id: Type.String({ format: "uuid" }),
  url,
  description,
  events,
  external_id,
  enabled: Type.Boolean(),
  disabled_reason: Type.Union([Type.Enum(["owner", "gone", "failing"]), Type.Null()], {
    description: "`gone`: the endpoint returned 410. `failing`: every delivery failed for five days.",
  }),
  failing_since: maybeTime("Time of the first failure since the last success."),
  previous_secret_until: maybeTime("Until this time, deliveries are also signed with the previous secret."),
  created_at: time,
};

const endpointSchema = Type.Object(endpoint, { title: "Webhook" });
const endpointsSchema = Type.Object({ endpoints: Type.Array(endpointSchema) }, { title: "WebhookList" });
const newEndpointSchema = Type.Intersect([endpointSchema, Type.Object({ secret })], { title: "CreatedWebhook" });
const rotatedSchema = Type.Object(
  { id: endpoint.id, secret, previous_secret_until: time },
  { title: "RotatedWebhookSecret" },
);
const deletedSchema = Type.Object({ id: endpoint.id, deleted: Type.Literal(true) }, { title: "DeletedWebhook" });

const createBody = Type.Object(
  {
    url,
    description: Type.Optional(description),
    events: Type.Optional(events),
    external_id: Type.Optional(external_id),
  },
  { additionalProperties: false, title: "CreateWebhookRequest" },
);
const changeBody = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    events: Type.Optional(events),
    enabled: Type.Optional(Type.Boolean()),
    external_id: Type.Optional(external_id),
  },
  { additionalProperties: false, minProperties: 1, title: "UpdateWebhookRequest" },
);
const readCreateBody = jsonReader(createBody);
const readChangeBody = jsonReader(changeBody);

export function webhookRoutes(dependencies: WebhookRouteDependencies): Route[] {
  return [
    ...readingRoutes(dependencies),
    ...changingRoutes(dependencies),
    deleteRoute(dependencies),
    rotateRoute(dependencies),
  ];
}

function readingRoutes({ tenant, guard }: WebhookRouteDependencies): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks",
      scope,
      operationId: "listWebhooks",
      tag: "Webhooks",
      summary: "List webhook endpoints",
      description: `Returns all endpoints of the wallet, oldest first. A wallet can have ${maxEndpoints}.`,
      answer: endpointsSchema,
      problems: managementProblems,
      handle: async (request, reply) => {
        const { walletId } = await guard(request, reply, scope);
        return { endpoints: (await listEndpoints(tenant, walletId).catch(unavailable)).map(serializeEndpoint) };
      },
    },
    {
      method: "GET",
      path: "/v1/webhooks/:id",
      scope,
      operationId: "getWebhook",
      tag: "Webhooks",
      summary: "Get a webhook endpoint",
      description: "Returns an endpoint without its secret.",
      answer: endpointSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await guard(request, reply, scope);
        return serializeFound(await readEndpoint(tenant, walletId, readId(request)).catch(unavailable));
      },
    },
  ];
}

function changingRoutes({ tenant, guard, secrets, allowPrivate }: WebhookRouteDependencies): Route[] {
  return [
    {
      method: "POST",
      path: "/v1/webhooks",
      scope,
      operationId: "createWebhook",
      tag: "Webhooks",
      summary: "Create a webhook endpoint",
      description:
        "Sends events of the wallet to a URL, signed according to Standard Webhooks. Without `events`, the endpoint receives all event types.",
      requestBody: createBody,
      answer: newEndpointSchema,
      problems: [...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const by = await guard(request, reply, scope);
        const body = await readCreateBody(request.raw);
        assertValidUrl(body, allowPrivate);
        const id = randomUUIDv7();
        const plain = mintWebhookSecret();
        const created = await createEndpoint(tenant, by, {
          id,
          url: body.url,
          description: body.description ?? "",
          events: body.events ?? eventTypes,
          externalId: body.external_id ?? null,
          sealedSecret: sealSecret(secrets, id, plain),
        }).catch(unavailable);
        return { ...serializeChanged(created), secret: plain };
      },
    },
    {
      method: "PATCH",
      path: "/v1/webhooks/:id",
      scope,
      operationId: "updateWebhook",
      tag: "Webhooks",
      summary: "Update a webhook endpoint",
      description:
        "Changes only the fields in the body. `enabled: false` cancels pending deliveries. `enabled: true` resumes with new events. You can replay missed ones.",
      requestBody: changeBody,
      answer: endpointSchema,
      problems: ["not_found", ...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const by = await guard(request, reply, scope);
        const id = readId(request);
        const { enabled, external_id: ownId, ...body } = await readChangeBody(request.raw);
        assertValidUrl(body, allowPrivate);
        const changes = { ...body, isEnabled: enabled, externalId: ownId };
        return serializeChanged(await changeEndpoint(tenant, by, id, changes).catch(unavailable));
      },
    },
  ];
}

function tooManyEndpoints(): Problem {
  const detail = `The wallet has reached the limit of ${maxEndpoints} webhook endpoints`;
  return new Problem("invalid_request", {
    detail: `${detail}. No endpoint was created. Delete an endpoint you no longer use.`,
    members: { errors: [{ pointer: "#", code: "too_many", detail }] },
  });
}

function deleteRoute({ tenant, guard }: WebhookRouteDependencies): Route {
  return {
    method: "DELETE",
    path: "/v1/webhooks/:id",
    scope,
    operationId: "deleteWebhook",
    tag: "Webhooks",
    summary: "Delete a webhook endpoint",
    description: "Deletes an endpoint and its delivery log. A delivery in flight may still arrive.",
    answer: deletedSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const by = await guard(request, reply, scope);
      const id = readId(request);
      if (!(await deleteEndpoint(tenant, by, id).catch(unavailable))) throw noSuchResource(endpointResource);
      return { id, deleted: true };
    },
  };
}

function rotateRoute({ tenant, guard, secrets }: WebhookRouteDependencies): Route {
  return {
    method: "POST",
    path: "/v1/webhooks/:id/rotate-secret",
    scope,
    operationId: "rotateWebhookSecret",
    tag: "Webhooks",
    summary: "Rotate a webhook secret",
    description:
      "Creates a new secret. For 24 hours deliveries are also signed with the previous one, so that the receiver can switch over. Any older secret stops working immediately.",
    answer: rotatedSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const by = await guard(request, reply, scope);
      const id = readId(request);
      const plain = mintWebhookSecret();
      const until = await rotateSecret(tenant, by, id, sealSecret(secrets, id, plain)).catch(unavailable);
      if (!until) throw noSuchResource(endpointResource);
      return { id, secret: plain, previous_secret_until: until.toISOString() };
    },
  };
}

export const endpointResource: Resource = { name: "webhook endpoint", list: "GET /v1/webhooks" };

export function readId(request: FastifyRequest): string {
  return readPathId(request.params, endpointResource);
}

function assertValidUrl(body: Partial<Static<typeof createBody>>, allowPrivate: boolean): void {
  const detail = body.url === undefined ? undefined : findUrlError(body.url, { allowPrivate });
  if (detail !== undefined) throw invalidInput([fieldFault("url", detail)]);
}

function serializeFound(found: Endpoint | undefined) {
  if (!found) throw noSuchResource(endpointResource);
  return serializeEndpoint(found);
}

function serializeChanged(outcome: EndpointOutcome) {
  if (outcome === "too_many_endpoints") throw tooManyEndpoints();
  if (outcome === "external_id_taken") throw invalidInput([externalIdFault("another webhook of the wallet")]);
  return serializeFound(outcome === "not_found" ? undefined : outcome);
}

function serializeEndpoint(found: Endpoint) {
  return {
    id: found.id,
    url: found.url,
    description: found.description,
    events: found.events,
    external_id: found.externalId,
    enabled: found.disabledReason === null,
    disabled_reason: found.disabledReason,
    failing_since: found.failingSince?.toISOString() ?? null,
    previous_secret_until: found.previousUntil?.toISOString() ?? null,
    created_at: found.createdAt.toISOString(),
  };
}
