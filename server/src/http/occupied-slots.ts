import type { FastifyRequest } from "fastify";

const occupied = new WeakMap<FastifyRequest, () => void>();

/** The request occupies this slot, instead of the one it had, until its handler has finished. */
export function occupySlot(request: FastifyRequest, leave: () => void): void {
  leaveSlot(request);
  occupied.set(request, leave);
}

export function leaveSlot(request: FastifyRequest): void {
  occupied.get(request)?.();
  occupied.delete(request);
}
