import { get } from "node:http";
import { readConfig } from "./config/config.ts";
import { adapters } from "./providers/providers.ts";

// Exits 0 if the server or worker in this container is ready, otherwise 1. The image has no curl.

const { opsHost, opsPort } = readConfig(adapters, ["opsHost", "opsPort"]);
const host = ["0.0.0.0", "::"].includes(opsHost) ? "localhost" : opsHost;
const request = get({ host, port: opsPort, path: "/readyz", timeout: 2_500 }, ({ statusCode }) =>
  process.exit(statusCode === 200 ? 0 : 1),
);
request.on("timeout", () => request.destroy());
request.on("error", () => process.exit(1));
