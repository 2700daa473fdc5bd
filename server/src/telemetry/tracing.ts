import { setTimeout as wait } from "node:timers/promises";
import { ROOT_CONTEXT, type Span, type SpanContext, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";

// One trace per search: a root span, a child span for each step and, below "upstream", one for each upstream queried. A
// ledger statement serves many searches, so it is a separate trace with a link to each of them. Spans are started
// explicitly, without automatic instrumentation or implicit context.
//
// A span has the request id, the outcome and the duration. Never a query, a key, an IP address or a caller.

export interface Tracing {
  startSearch: (searchId: string, traceparent: string | undefined) => SearchTrace;
  /** Undefined if none of these searches is traced. */
  startBatch: (kind: string, searchIds: readonly string[]) => End | undefined;
  /** Exports the remaining spans. */
  close: () => Promise<void>;
}

/** Ends a span, with an outcome if it failed. */
export type End = (failure?: string) => void;

export interface SearchTrace {
  /** For the log. Undefined if this search is not sampled. */
  traceId: string | undefined;
  startStep: (step: string) => End;
  /** Starts a child span of the current step. */
  startAttempt: (upstream: string) => (outcome: string, upstreamStatus?: number) => void;
  end: (result: { outcome: string; mode: string | undefined; status: number | undefined }) => void;
}

export interface TracingOptions {
  /** Base URL for OTLP/HTTP; /v1/traces is appended. */
  endpoint: string;
  sampler: string;
  /** For the ratio-based samplers. */
  ratio: number;
  version: string;
}

export function startTracing({ endpoint, sampler, ratio, version }: TracingOptions): Tracing {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": "pennyblack", "service.version": version }),
    sampler: chooseSampler(sampler, ratio),
    // A batch has at most 250 searches.
    spanLimits: { linkCountLimit: 250 },
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }) })],
  });
  const tracer = provider.getTracer("pennyblack");
  const inFlight = new Map<string, SpanContext>();

  return {
    startSearch(searchId, traceparent) {
      const caller = parseTraceparent(traceparent);
      const span = tracer.startSpan(
        "POST /v1/search",
        {
          kind: SpanKind.SERVER,
          attributes: { "pennyblack.request_id": searchId },
          // A link, not a parent: any caller can send one, and a parent would decide what we sample.
          links: caller ? [{ context: caller }] : [],
        },
        ROOT_CONTEXT,
      );
      const isTraced = span.isRecording();
      if (isTraced) inFlight.set(searchId, span.spanContext());
      const child = (parent: Span, name: string, kind: SpanKind): Span =>
        tracer.startSpan(name, { kind }, trace.setSpan(ROOT_CONTEXT, parent));
      let step = span;
      return {
        traceId: isTraced ? span.spanContext().traceId : undefined,
        startStep(name) {
          step = child(span, name, SpanKind.INTERNAL);
          return endOf(step);
        },
        startAttempt(upstream) {
          const attempt = child(step, `query ${upstream}`, SpanKind.CLIENT);
          attempt.setAttribute("pennyblack.upstream", upstream);
          return (outcome, upstreamStatus) => {
            if (upstreamStatus !== undefined) attempt.setAttribute("http.response.status_code", upstreamStatus);
            endOf(attempt)(outcome === "ok" ? undefined : outcome);
          };
        },
        end({ outcome, mode, status }) {
          inFlight.delete(searchId);
          span.setAttribute("pennyblack.outcome", outcome);
          if (mode !== undefined) span.setAttribute("pennyblack.mode", mode);
          if (status !== undefined) span.setAttribute("http.response.status_code", status);
          if (status === undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },

    startBatch(kind, searchIds) {
      const links = searchIds.flatMap((id) => inFlight.get(id) ?? []).map((context) => ({ context }));
      if (links.length === 0) return undefined;
      const attributes = { "pennyblack.batch_size": searchIds.length };
      return endOf(tracer.startSpan(batchName(kind), { kind: SpanKind.CLIENT, attributes, links }, ROOT_CONTEXT));
    },

    // An unavailable collector must not delay the shutdown.
    close: () => Promise.race([provider.shutdown(), wait(2_000, undefined, { ref: false })]).catch(() => undefined),
  };
}

function endOf(span: Span): End {
  return (failure) => {
    if (failure !== undefined) {
      span.setAttribute("pennyblack.outcome", failure);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };
}

const batchName = (kind: string): string => `ledger ${kind}`;

/** By the names of OTEL_TRACES_SAMPLER. A search is always a root span, so parent-based samplers use our own decision. */
function chooseSampler(name: string, ratio: number): Sampler {
  const createRootSampler = (): Sampler => {
    if (name.endsWith("always_off")) return new AlwaysOffSampler();
    return name.endsWith("traceidratio") ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
  };
  const searchSampler = new ParentBasedSampler({ root: createRootSampler() });
  const batchSampler = new AlwaysOnSampler();
  return {
    // A batch span is started only if one of its searches is sampled.
    shouldSample: (context, traceId, spanName, ...rest) =>
      (spanName.startsWith(batchName("")) ? batchSampler : searchSampler).shouldSample(
        context,
        traceId,
        spanName,
        ...rest,
      ),
    toString: () => name,
  };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
function parseTraceparent(header: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header ?? "") ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
