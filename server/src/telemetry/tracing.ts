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

// One trace is one search: a span for the whole, one below it for each step of the story, and below "upstream" one for
// each upstream that was asked. A statement to the ledger carries many searches, so it is a trace of its own with a link
// to each of them. Whoever opens a span says so in plain sight; nothing is hooked in, and no context travels by itself.
//
// A span says which request, how it ended and how long it took. Never a query, a key, an address or a caller.

export interface Tracing {
  startSearch: (searchId: string, traceparent: string | undefined) => SearchTrace;
  /** Undefined if none of these searches is traced. */
  startBatch: (kind: string, searchIds: readonly string[]) => End | undefined;
  /** Sends what has gathered. */
  close: () => Promise<void>;
}

/** Ends a span; with a word if it failed. */
export type End = (failure?: string) => void;

export interface SearchTrace {
  /** For the log. Undefined if this search was not chosen to be traced. */
  traceId: string | undefined;
  startStep: (step: string) => End;
  /** Below the step that is under way. */
  startAttempt: (upstream: string) => (outcome: string, upstreamStatus?: number) => void;
  end: (said: { outcome: string; mode: string | undefined; status: number | undefined }) => void;
}

export interface TracingOptions {
  /** OTLP over HTTP; /v1/traces is below it. */
  endpoint: string;
  sampler: string;
  /** Of the samplers that choose a share. */
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
  const underWay = new Map<string, SpanContext>();

  return {
    startSearch(searchId, traceparent) {
      const caller = parseTraceparent(traceparent);
      const span = tracer.startSpan(
        "POST /v1/search",
        {
          kind: SpanKind.SERVER,
          attributes: { "pennyblack.request_id": searchId },
          // A link, not a parent: anybody may send one, and with a parent's id comes the choice of what we record.
          links: caller ? [{ context: caller }] : [],
        },
        ROOT_CONTEXT,
      );
      const isTraced = span.isRecording();
      if (isTraced) underWay.set(searchId, span.spanContext());
      const below = (parent: Span, name: string, kind: SpanKind): Span =>
        tracer.startSpan(name, { kind }, trace.setSpan(ROOT_CONTEXT, parent));
      let step = span;
      return {
        traceId: isTraced ? span.spanContext().traceId : undefined,
        startStep(name) {
          step = below(span, name, SpanKind.INTERNAL);
          return endOf(step);
        },
        startAttempt(upstream) {
          const attempt = below(step, `ask ${upstream}`, SpanKind.CLIENT);
          attempt.setAttribute("pennyblack.upstream", upstream);
          return (outcome, upstreamStatus) => {
            if (upstreamStatus !== undefined) attempt.setAttribute("http.response.status_code", upstreamStatus);
            endOf(attempt)(outcome === "ok" ? undefined : outcome);
          };
        },
        end({ outcome, mode, status }) {
          underWay.delete(searchId);
          span.setAttribute("pennyblack.outcome", outcome);
          if (mode !== undefined) span.setAttribute("pennyblack.mode", mode);
          if (status !== undefined) span.setAttribute("http.response.status_code", status);
          if (status === undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },

    startBatch(kind, searchIds) {
      const links = searchIds.flatMap((id) => underWay.get(id) ?? []).map((context) => ({ context }));
      if (links.length === 0) return undefined;
      const attributes = { "pennyblack.batch_size": searchIds.length };
      return endOf(tracer.startSpan(batchName(kind), { kind: SpanKind.CLIENT, attributes, links }, ROOT_CONTEXT));
    },

    // A collector that is away must not keep a server from leaving.
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

/** As OTEL_TRACES_SAMPLER names them. A search is always a root, so what hangs on a parent's choice hangs on ours. */
function chooseSampler(name: string, ratio: number): Sampler {
  const choose = (): Sampler => {
    if (name.endsWith("always_off")) return new AlwaysOffSampler();
    return name.endsWith("traceidratio") ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
  };
  const ofSearches = new ParentBasedSampler({ root: choose() });
  const ofBatches = new AlwaysOnSampler();
  return {
    // A batch is only begun where a search in it is traced.
    shouldSample: (context, traceId, spanName, ...rest) =>
      (spanName.startsWith(batchName("")) ? ofBatches : ofSearches).shouldSample(context, traceId, spanName, ...rest),
    toString: () => name,
  };
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
function parseTraceparent(header: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header ?? "") ?? [];
  if (!traceId || !spanId || !flags || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
