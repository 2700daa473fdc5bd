import type { FastifyReply, FastifyRequest } from "fastify";
import type { Actor } from "../../db/as-tenant.ts";

/** Authenticates a request and applies its limits. Every route calls it first. The wallet's owner is identified by keys/ or console/. */
export type WalletGuard = (
  request: FastifyRequest,
  reply: FastifyReply,
  scope: "wallet:read" | "wallet:write",
) => Promise<Actor>;
