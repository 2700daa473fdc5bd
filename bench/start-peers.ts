import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { choosePort } from "../server/src/dev/choose-port.ts";
import type { Question } from "./question.ts";
import { type Nginx, startNginx } from "./start-nginx.ts";
import type { Workshop } from "./workshop.ts";

// What else a user could put in front of an upstream. Both hand the upstream's bytes through; neither cleans, ranks,
// knows wallets or charges.

/** nginx, which asks the upstream as we would and changes nothing. */
export function startPlainProxy(workshop: Workshop, upstreamUrl: string): Promise<Nginx> {
  const { host } = new URL(upstreamUrl);
  return startNginx(
    workshop,
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
 * The nearest published gateway in TypeScript: Portkey's, without its console. It has no search, so it is asked for a
 * chat, and passes on the same bytes from the same upstream: its proxying of other paths fails on Node 24.
 */
export async function startGateway(
  workshop: Workshop,
  upstreamUrl: string,
  nodeOptions: readonly string[],
): Promise<Nginx & { question: Question }> {
  const script = ensureGateway();
  const port = await choosePort({ host: "127.0.0.1" });
  const args = [...nodeOptions, script, "--headless", `--port=${port}`];
  const environment = { NODE_ENV: "production" };
  const { pid } = await workshop.start({ name: "the gateway", program: process.execPath, args, environment, port });
  const question = {
    path: "/v1/chat/completions",
    body: JSON.stringify({ model: "any", messages: [{ role: "user", content: "postgresql advisory locks" }] }),
    headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": `${upstreamUrl}/v1` },
  };
  return { url: `http://127.0.0.1:${port}`, pid, question };
}

/** Installed beside the product and not into it. */
function ensureGateway(): string {
  const script = join(peersFolder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  if (!existsSync(script)) {
    console.error(`installing @portkey-ai/gateway ${gatewayVersion} into .pennyblack/peers`);
    mkdirSync(peersFolder, { recursive: true });
    writeFileSync(join(peersFolder, "package.json"), JSON.stringify({ private: true }));
    const wish = ["install", "--ignore-scripts", "--no-audit", "--no-fund", `@portkey-ai/gateway@${gatewayVersion}`];
    execFileSync("npm", wish, { cwd: peersFolder, stdio: "ignore" });
  }
  return script;
}
