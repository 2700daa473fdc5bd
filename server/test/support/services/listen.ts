import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Listening {
  url: string;
  port: number;
  /** Drops open connections too. Does nothing if the server is not listening. */
  close: () => Promise<void>;
}

/** Makes a server listen on loopback, on a free port unless one is given. */
export async function listen(server: Server, port = 0): Promise<Listening> {
  await once(server.listen(port, "127.0.0.1"), "listening");
  const { port: used } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${used}`,
    port: used,
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
