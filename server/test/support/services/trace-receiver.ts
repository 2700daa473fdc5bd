import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";
import { until } from "../assertions/until.ts";
import { listen } from "./listen.ts";

// A minimal OpenTelemetry collector: accepts OTLP over HTTP as JSON and stores it.

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
  /** Everything received, including headers, for tests that something is absent. */
  text: () => string;
  untilReceived(description: string, matches: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
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
  return {
    ...(await listen(server)),
    spans,
    text: () => bodies.join("\n"),
    async untilReceived(description, matches) {
      await until(description, () => spans.some(matches));
      return spans.find(matches) as ReceivedSpan;
    },
  };
}

export function attributesOf(span: ReceivedSpan): Record<string, unknown> {
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** The other spans of a search in order of their start; a parent comes before a child that starts at the same time. */
export function spansBelow(root: ReceivedSpan, spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  const below = spans.filter(({ traceId, spanId }) => traceId === root.traceId && spanId !== root.spanId);
  const startOf = ({ startTimeUnixNano }: ReceivedSpan): bigint => BigInt(startTimeUnixNano);
  return below.toSorted((a, b) => {
    if (a.parentSpanId === b.spanId) return 1;
    if (b.parentSpanId === a.spanId) return -1;
    return Number(startOf(a) - startOf(b));
  });
}
