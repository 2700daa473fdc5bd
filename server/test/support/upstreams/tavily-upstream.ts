import { createServer } from "node:http";
import { closeAfter } from "../close-after.ts";
import { replaceUrl } from "../replace-constants.ts";
import { listen } from "../services/listen.ts";

export interface TavilyUpstream {
  /** The host of each result. The domain filters of a request are ignored. */
  hosts: string[];
  requests: Record<string, unknown>[];
  /** Of a server that uses it. */
  settings: Record<string, string>;
}

/** An upstream with domain filters that does not apply them. */
export async function startTavilyUpstream(): Promise<TavilyUpstream> {
  const upstream: Pick<TavilyUpstream, "hosts" | "requests"> = { hosts: [], requests: [] };
  const { url } = closeAfter(
    await listen(
      createServer((request, response) => {
        let text = "";
        request.on("data", (chunk: Buffer) => (text += chunk.toString()));
        request.once("end", () => {
          upstream.requests.push(JSON.parse(text) as Record<string, unknown>);
          const results = upstream.hosts.map((host, index) => ({
            title: `Page ${index} of ${host}`,
            url: `https://${host}/${index}`,
            content: `About page ${index}, which is on ${host}.`,
          }));
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }));
        });
      }),
    ),
  );
  return Object.assign(upstream, {
    settings: { ...replaceUrl("tavily", url), PENNYBLACK_TAVILY_KEY: "tvly-test-key-0001" },
  });
}
