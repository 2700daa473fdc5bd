import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { until } from "../assertions/until.ts";

// A few lines of a collector: takes OTLP over HTTP as JSON and keeps it.

export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  links?: { traceId: string; spanId: string }[];
  status: { code?: number };
}

export interface TraceReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** Every byte of it, for what must not be there. */
  text: () => string;
  untilReceived(what: string, isIt: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  close(): Promise<void>;
}

interface Export {
  resourceSpans: { scopeSpans: { spans: ReceivedSpan[] }[] }[];
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const bodies: string[] = [];
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const bytes = Buffer.concat(chunks);
      const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes).toString();
      bodies.push(`${request.url} ${JSON.stringify(request.headers)} ${text}`);
      const { resourceSpans } = JSON.parse(text) as Export;
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    text: () => bodies.join("\n"),
    async untilReceived(what, isIt) {
      await until(what, () => spans.some(isIt));
      return spans.find(isIt) as ReceivedSpan;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function attributesOf(span: ReceivedSpan): Record<string, unknown> {
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** The other spans of a search, in the order in which they began; a parent before what began in the same moment. */
export function spansBelow(root: ReceivedSpan, spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  const below = spans.filter(({ traceId, spanId }) => traceId === root.traceId && spanId !== root.spanId);
  const startOf = ({ startTimeUnixNano }: ReceivedSpan): bigint => BigInt(startTimeUnixNano);
  return below.toSorted((a, b) => {
    if (a.parentSpanId === b.spanId) return 1;
    if (b.parentSpanId === a.spanId) return -1;
    return Number(startOf(a) - startOf(b));
  });
}
