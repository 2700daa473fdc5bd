import { maxAnswerBytes } from "../../../../src/providers/call-provider.ts";
import type { FuzzOperation } from "../fuzz-operation.ts";
import type { Input } from "../inputs.ts";
import { anyTexts, type BuildText, urlTexts } from "./adversarial-texts.ts";
import type { CostCase } from "./find-costly-cases.ts";
import { type CostInput, inJson, manyNames, requestOf } from "./request-case.ts";

/** The limit of the upstream client, less the rest of the answer. */
const maxUpstreamBytes = maxAnswerBytes - 1_000;

/** One good hit, so that the answer is charged and ranked, and the circuit of the upstream stays closed. */
const goodHit = { title: "A result", url: "https://site.example/page", content: "A result.", engine: "fixture" };

export function* upstreamCases(operations: readonly FuzzOperation[]): Generator<CostCase<CostInput>> {
  const search = operations.find(({ name }) => name === "POST /v1/search");
  if (!search) return;
  const answered = (part: string, answer: (size: number) => unknown): CostCase<CostInput> => ({
    name: `an upstream answer: ${part}`,
    limit: maxUpstreamBytes,
    build: (size) => {
      const headers: Input["headers"] = [
        ["x-api-key", "{{live}}"],
        ["rank-explain", "1"],
      ];
      const request = requestOf({ ...search, credential: undefined }, { headers, body: '{"query":"cats","n":20}' });
      const body = answer(size);
      return { request, upstreamAnswer: typeof body === "string" ? body : JSON.stringify(body) };
    },
  });
  const hits = (...results: unknown[]): unknown => ({ results: [...results, goodHit] });
  for (const field of ["title", "url", "content"]) {
    const texts = field === "url" ? { ...anyTexts, ...urlTexts } : { ...anyTexts, ...markupTexts };
    for (const [kind, build] of Object.entries(texts)) {
      yield answered(`the ${field} of ${kind}`, (size) => hits({ ...goodHit, [field]: build(size, inJson) }));
      for (const length of fieldLengths[field] ?? []) {
        const hit = (index: number): object => ({
          ...goodHit,
          url: urlOf(index),
          [field]: numbered(build(length, inJson), index),
        });
        yield answered(`many hits, each with a ${field} of ${length} bytes of ${kind}`, (size) =>
          hits(...manyHits(size, hit)),
        );
      }
    }
  }
  yield answered("many hits", (size) => hits(...manyHits(size, (index) => ({ url: urlOf(index) }))));
  yield answered("many hits of many sites", (size) =>
    hits(...manyHits(size, (index) => ({ url: `https://site-${index}.example/` }))),
  );
  yield answered("many hits with hosts of many labels", (size) =>
    hits(...manyHits(size, (index) => ({ url: `https://${"a.".repeat(100)}site-${index}.example/` }))),
  );
  yield answered("many hits with internationalized hosts", (size) =>
    hits(...manyHits(size, (index) => ({ url: `https://${wideHost(index)}.example/` }))),
  );
  yield answered("many hits that are not objects", (size) => ({
    results: [...Array<number>((size / 2) | 0).fill(1), goodHit],
  }));
  yield answered("many hits without a web URL", (size) => hits(...manyHits(size, () => ({ url: "ftp://x" }))));
  yield answered("many unknown fields", (size) => ({
    ...Object.fromEntries(manyNames(["a"], size, (name) => name.length + 5).map((name) => [name, 1])),
    results: [goodHit],
  }));
  yield answered("deep nesting", (size) => `{"nested":${"[".repeat(size / 2)}${"]".repeat(size / 2)},"results":[]}`);
}

const markupTexts: Record<string, BuildText> = {
  comments: (size) => "<!--".repeat(size / 4),
  doctypes: (size) => "<!doctype ".repeat(size / 10),
  "closed tags": (size) => "<b>a</b>".repeat(size / 8),
  "split tags": (size) => "<<b>b>".repeat(size / 6),
  "numeric entities": (size) => "&#60;".repeat(size / 5),
  "long entities": (size) => "&CounterClockwiseContourIntegral".repeat(size / 32),
};

function manyHits(size: number, hit: (index: number) => object): object[] {
  const hits: object[] = [];
  for (let index = 0, left = size; ; index += 1) {
    const next = hit(index);
    left -= Buffer.byteLength(JSON.stringify(next)) + 1;
    if (left < 0 && index > 0) return hits;
    hits.push(next);
  }
}

function urlOf(index: number): string {
  return `https://site.example/${index}`;
}

function wideHost(index: number): string {
  return Array.from({ length: 60 }, (_, at) =>
    String.fromCodePoint(0x4e00 + ((index * 7_919 + at * 131) % 20_000)),
  ).join("");
}

/** Short enough for every limit of a field, or as long as the answer can hold for each of 50 hits. */
const fieldLengths: Record<string, readonly number[]> = {
  title: [300, 10_000],
  content: [1_000, 10_000],
  url: [250, 2_000],
};

function numbered(text: string, index: number): string {
  return /^https?:/.test(text) ? text.replace("://", `://x${index}.`) : `${text} ${index}`;
}
