import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";

interface Occupied {
  leave: () => void;
  /** Only for slots of unknown callers. Throws if no slot is free. */
  enter?: () => () => void;
}

const occupied = new WeakMap<IncomingMessage, Occupied>();

/** The request occupies this slot, instead of the one it had, until its handler has finished. */
export function occupySlot({ raw }: FastifyRequest, leave: () => void): void {
  leaveRawSlot(raw);
  occupied.set(raw, { leave });
}

/** The request occupies a slot for unknown callers until its handler has finished, except while its body is received. */
export function occupyPublicSlot({ raw }: FastifyRequest, enter: () => () => void): void {
  occupied.set(raw, { leave: enter(), enter });
}

export function leaveSlot({ raw }: FastifyRequest): void {
  leaveRawSlot(raw);
}

/**
 * Anyone can send a body slowly. Without a slot, such a request costs as much as slowly sent headers: a connection and a
 * few kilobytes, until the timeout. A known caller uses up its own share instead.
 */
export async function receiveWithoutPublicSlot<Body>(
  request: IncomingMessage,
  receive: () => Promise<Body>,
): Promise<Body> {
  const enter = occupied.get(request)?.enter;
  if (!enter || request.complete) return receive();
  leaveRawSlot(request);
  const body = await receive();
  occupied.set(request, { leave: enter(), enter });
  return body;
}

function leaveRawSlot(request: IncomingMessage): void {
  occupied.get(request)?.leave();
  occupied.delete(request);
}
