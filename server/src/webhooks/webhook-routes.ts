import { type KeyObject, randomUUIDv7 } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { isUuid } from "../http/query-parameters.ts";
import { invalidInput, jsonReader } from "../http/read-json.ts";
import { bodyProblems, managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Enter } from "../keys/keys.ts";
import { Problem } from "../problems.ts";
import { faultOfUrl } from "./check-url.ts";
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  type Endpoint,
  listEndpoints,
  mostEndpoints,
  readEndpoint,
  rotateSecret,
} from "./endpoints.ts";
import { eventTypes } from "./event-types.ts";
import { mintWebhookSecret, sealSecret } from "./webhook-secret.ts";

export interface WebhookRouteParts {
  tenant: Pool;
  enter: Enter;
  /** Seals the receivers' secrets. */
  secret: KeyObject;
  allowPrivate: boolean;
}

const scope = "webhooks:write";
const time = Type.String({ format: "date-time" });
const maybeTime = (description: string) => Type.Union([time, Type.Null()], { description });

const events = Type.Array(Type.Enum([...eventTypes]), { minItems: 1, maxItems: 8, uniqueItems: true });
const url = Type.String({ maxLength: 2048, description: "An https address on the public internet." });
const description = Type.String({ maxLength: 200, description: "For your own use." });
const secret = Type.String({ description: "Verifies our signatures. Shown this once." });

const endpoint = {
  id: Type.String({ format: "uuid" }),
  url,
  description,
  events,
  enabled: Type.Boolean(),
  disabled_reason: Type.Union([Type.Enum(["owner", "gone", "failing"]), Type.Null()], {
    description: "`gone`: it answered 410. `failing`: nothing arrived there for five days.",
  }),
  failing_since: maybeTime("The first failure since the last success."),
  previous_secret_until: maybeTime("Until then the secret before the last rotation signs too."),
  created_at: time,
};

const endpointSchema = Type.Object(endpoint, { title: "WebhookEndpoint" });
const endpointsSchema = Type.Object({ endpoints: Type.Array(endpointSchema) }, { title: "WebhookEndpoints" });
const newEndpointSchema = Type.Object({ ...endpoint, secret }, { title: "NewWebhookEndpoint" });
const rotatedSchema = Type.Object({ id: endpoint.id, secret, previous_secret_until: time }, { title: "RotatedSecret" });
const deletedSchema = Type.Object({ id: endpoint.id, deleted: Type.Literal(true) }, { title: "DeletedEndpoint" });

const createBody = Type.Object(
  { url, description: Type.Optional(description), events: Type.Optional(events) },
  { additionalProperties: false },
);
const changeBody = Type.Object(
  {
    url: Type.Optional(url),
    description: Type.Optional(description),
    events: Type.Optional(events),
    enabled: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false, minProperties: 1 },
);
const readCreateBody = jsonReader(createBody);
const readChangeBody = jsonReader(changeBody);

export function webhookRoutes(parts: WebhookRouteParts): Route[] {
  return [...readingRoutes(parts), ...changingRoutes(parts), rotateRoute(parts)];
}

function readingRoutes({ tenant, enter }: WebhookRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks",
      scope,
      summary: "List the webhook endpoints",
      description: `All of the wallet's, oldest first; there are at most ${mostEndpoints}.`,
      answer: endpointsSchema,
      problems: managementProblems,
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        return { endpoints: (await listEndpoints(tenant, walletId).catch(unavailable)).map(showEndpoint) };
      },
    },
    {
      method: "GET",
      path: "/v1/webhooks/:id",
      scope,
      summary: "Read a webhook endpoint",
      description: "Where it is, what it is told, and whether it fails. Its secret is not shown again.",
      answer: endpointSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        return showFound(await readEndpoint(tenant, walletId, readId(request)).catch(unavailable));
      },
    },
  ];
}

function changingRoutes({ tenant, enter, secret: sealingKey, allowPrivate }: WebhookRouteParts): Route[] {
  return [
    {
      method: "POST",
      path: "/v1/webhooks",
      scope,
      summary: "Create a webhook endpoint",
      description:
        "From now on events of the wallet are sent there, signed as Standard Webhooks. Without `events` it is told of all.",
      requestBody: createBody,
      answer: newEndpointSchema,
      problems: [...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        const body = await readCreateBody(request.raw);
        refuseUrl(body, allowPrivate);
        const id = randomUUIDv7();
        const plain = mintWebhookSecret();
        const made = await createEndpoint(tenant, walletId, {
          id,
          url: body.url,
          description: body.description ?? "",
          events: body.events ?? eventTypes,
          sealedSecret: sealSecret(sealingKey, id, plain),
        }).catch(unavailable);
        if (!made) {
          const detail = `would be one more than the ${mostEndpoints} endpoints a wallet may have`;
          throw invalidInput([{ pointer: "#", code: "too_many", detail }]);
        }
        return { ...showEndpoint(made), secret: plain };
      },
    },
    {
      method: "PATCH",
      path: "/v1/webhooks/:id",
      scope,
      summary: "Change a webhook endpoint",
      description:
        "What is not named stays. `enabled: false` ends what waits for it; `true` starts anew and does not send what was missed, which can be replayed.",
      requestBody: changeBody,
      answer: endpointSchema,
      problems: ["not_found", ...bodyProblems, ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        const id = readId(request);
        const { enabled, ...body } = await readChangeBody(request.raw);
        refuseUrl(body, allowPrivate);
        return showFound(
          await changeEndpoint(tenant, walletId, id, { ...body, isEnabled: enabled }).catch(unavailable),
        );
      },
    },
    {
      method: "DELETE",
      path: "/v1/webhooks/:id",
      scope,
      summary: "Delete a webhook endpoint",
      description: "With its deliveries and their log. What is being sent at this moment may still arrive.",
      answer: deletedSchema,
      problems: ["not_found", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await enter(request, reply, scope);
        const id = readId(request);
        if (!(await deleteEndpoint(tenant, walletId, id).catch(unavailable))) throw new Problem("not_found");
        return { id, deleted: true };
      },
    },
  ];
}

function rotateRoute({ tenant, enter, secret: sealingKey }: WebhookRouteParts): Route {
  return {
    method: "POST",
    path: "/v1/webhooks/:id/rotate-secret",
    scope,
    summary: "Replace an endpoint's secret",
    description:
      "For 24 hours the secret before signs too, so that the receiver can change over. The one before that ends.",
    answer: rotatedSchema,
    problems: ["not_found", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await enter(request, reply, scope);
      const id = readId(request);
      const plain = mintWebhookSecret();
      const until = await rotateSecret(tenant, walletId, id, sealSecret(sealingKey, id, plain)).catch(unavailable);
      if (!until) throw new Problem("not_found");
      return { id, secret: plain, previous_secret_until: until.toISOString() };
    },
  };
}

/** An id that is none is not found, like one of another wallet. */
export function readId(request: FastifyRequest): string {
  const { id } = request.params as { id: string };
  if (!isUuid(id)) throw new Problem("not_found");
  return id;
}

function refuseUrl(body: Partial<Static<typeof createBody>>, allowPrivate: boolean): void {
  const detail = body.url === undefined ? undefined : faultOfUrl(body.url, { allowPrivate });
  if (detail !== undefined) throw invalidInput([{ pointer: "#/url", code: "invalid", detail }]);
}

function showFound(found: Endpoint | undefined) {
  if (!found) throw new Problem("not_found");
  return showEndpoint(found);
}

function showEndpoint(found: Endpoint) {
  return {
    id: found.id,
    url: found.url,
    description: found.description,
    events: found.events,
    enabled: found.disabledReason === null,
    disabled_reason: found.disabledReason,
    failing_since: found.failingSince?.toISOString() ?? null,
    previous_secret_until: found.previousUntil?.toISOString() ?? null,
    created_at: found.createdAt.toISOString(),
  };
}
