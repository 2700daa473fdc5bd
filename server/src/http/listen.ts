import type { FastifyInstance } from "fastify";

export interface Listener {
  host: string;
  port: number;
  /** The setting of the port. */
  variable: string;
}

/** Listens. Returns the reason this process cannot, or undefined. */
export async function listen(server: FastifyInstance, { host, port, variable }: Listener): Promise<string | undefined> {
  try {
    await server.listen({ host, port });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && "syscall" in error)) throw error;
    if (error.code !== "EADDRINUSE")
      return `Cannot listen on ${host}:${port} (${String(error.code)}). See ${variable}.`;
    return `Cannot listen on ${host}:${port}: another process uses this port. Stop it, or change ${variable}.`;
  }
}
