import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { choosePort } from "../server/src/dev/choose-port.ts";
import type { BenchRequest } from "./bench-request.ts";
import type { Harness } from "./harness.ts";
import { type Nginx, startNginx } from "./start-nginx.ts";

// Other proxies that could be placed in front of an upstream. Both pass the upstream's bytes through without cleaning,
// ranking or charging.

/** nginx as a plain proxy. */
export function startPlainProxy(harness: Harness, upstreamUrl: string): Promise<Nginx> {
  const { host } = new URL(upstreamUrl);
  return startNginx(
    harness,
    "the plain proxy",
    `upstream searches { server ${host}; keepalive 64; }`,
    `location = /v1/search {
       proxy_pass http://searches/search;
       proxy_method GET;
       proxy_pass_request_body off;
       proxy_set_header Content-Length "";
       proxy_http_version 1.1;
       proxy_set_header Connection "";
     }`,
  );
}

export const gatewayVersion = "1.15.2";
const peersFolder = new URL("../.pennyblack/peers", import.meta.url).pathname;

/**
 * Portkey's gateway, the closest published gateway in TypeScript, without its console. It has no search endpoint, so it
 * gets a chat completion request and passes on the same bytes. Its proxying of other paths fails on Node 24.
 */
export async function startGateway(
  harness: Harness,
  upstreamUrl: string,
  nodeOptions: readonly string[],
): Promise<Nginx & { request: BenchRequest }> {
  const script = ensureGateway();
  const port = await choosePort({ host: "127.0.0.1" });
  const args = [...nodeOptions, script, "--headless", `--port=${port}`];
  const env = { NODE_ENV: "production" };
  const { pid } = await harness.start({ name: "the gateway", program: process.execPath, args, env, port });
  const request = {
    path: "/v1/chat/completions",
    body: JSON.stringify({ model: "any", messages: [{ role: "user", content: "postgresql advisory locks" }] }),
    headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": `${upstreamUrl}/v1` },
  };
  return { url: `http://127.0.0.1:${port}`, pid, request };
}

/** Installs the gateway outside the product's dependencies. */
function ensureGateway(): string {
  const script = join(peersFolder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (!existsSync(script)) {
    console.error(`installing @portkey-ai/gateway ${gatewayVersion} into .pennyblack/peers`);
    mkdirSync(peersFolder, { recursive: true });
    writeFileSync(join(peersFolder, "package.json"), JSON.stringify({ private: true }));
    const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", `@portkey-ai/gateway@${gatewayVersion}`];
    execFileSync("npm", args, { cwd: peersFolder, stdio: "ignore" });
  }
  return script;
}
