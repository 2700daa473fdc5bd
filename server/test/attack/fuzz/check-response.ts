import type { Input } from "./inputs.ts";
import { type Exchange, headerOf, type WireAnswer } from "./wire.ts";

/** Describes the violation in a response; undefined if there is none. */
export function checkResponse(input: Input, exchange: Exchange): string | undefined {
  if (exchange.kind === "hung") return "no answer in time";
  if (exchange.kind === "closed") return input.mutation ? undefined : "closed without an answer";
  for (const answer of exchange.answers) {
    const violation = checkAnswer(input, answer);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

function checkAnswer(input: Input, answer: WireAnswer): string | undefined {
  const { status } = answer;
  if (!(status >= 200 && status <= 599)) return `a status of ${status}`;
  const isPublic = input.operation.listener === "public";
  if (status >= 500 && !(isPublic && requestsFailure(input))) return `an unexpected ${status}`;
  if (isPublic) {
    const charge = headerOf(answer, "wallet-charge") ?? "none";
    if (status !== 200 && !charge.startsWith("0.00;")) return `a ${status} with the charge ${charge}`;
    if (status >= 400 && !isPage(input, answer) && !isProblem(answer) && !isCompatProblem(input, answer))
      return `a ${status} in an undocumented format: ${headerOf(answer, "content-type")}`;
    if (headerOf(answer, "request-id") === undefined) return `a ${status} without a Request-Id`;
  }
  if (/\bjson\b/.test(headerOf(answer, "content-type") ?? "") && input.method !== "HEAD" && !isJson(answer))
    return `a ${status} with invalid JSON`;
  return undefined;
}

function isProblem(answer: WireAnswer): boolean {
  return headerOf(answer, "content-type")?.startsWith("application/problem+json") ?? false;
}

/** Under /compat/ a problem has the shape of another API. */
function isCompatProblem({ target, method }: Input, { body }: WireAnswer): boolean {
  return target.startsWith("/compat/") && (method === "HEAD" || body.includes('"charged":false'));
}

/** Under /docs and /console a 404 is an HTML page. */
function isPage({ target }: Input, answer: WireAnswer): boolean {
  return (
    /^\/(?:docs|console)\b(?!\/api)/.test(target) &&
    answer.status === 404 &&
    headerOf(answer, "content-type") === "text/html; charset=utf-8"
  );
}

/** Queries with `test:` simulate failures, and the upstream fails on `break`. */
function requestsFailure({ body, target }: Input): boolean {
  const text = typeof body === "string" ? body : Buffer.from(body ?? []).toString("latin1");
  return /test:|break /.test(text) || /^\/compat\/.*[=&](?:test%3A|test:|break(?:%20|\+))/i.test(target);
}

function isJson({ head, body }: WireAnswer): boolean {
  if (head.includes("\r\ntransfer-encoding: chunked")) return true;
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

/** A command that sends the input to a local server. Keys must be filled in. */
export function describeInput(input: Input, bytes: Buffer): string {
  if (input.mutation) {
    const escaped = [...bytes.toString("latin1")].map(escape).join("");
    return `printf '${escaped}' | nc -q 5 localhost ${input.operation.listener === "public" ? 8080 : 9090}`;
  }
  const host = input.operation.listener === "public" ? "localhost:8080" : "localhost:9090";
  const headers = input.headers.map(([name, value]) => `-H ${quote(value === "" ? `${name};` : `${name}: ${value}`)}`);
  const body = typeof input.body === "string" ? Buffer.from(input.body) : input.body;
  const data =
    body === undefined
      ? []
      : [`--data-binary @<(printf '${[...Buffer.from(body).toString("latin1")].map(escape).join("")}')`];
  const chunked = input.chunks ? ["-H 'Transfer-Encoding: chunked'"] : [];
  const parts = ["curl -gsi --path-as-is", "-X", quote(input.method), ...headers, ...chunked, ...data];
  return [...parts, quote(`http://${host}${input.target}`)].join(" ");
}

function escape(character: string): string {
  if (character === "%") return "%%";
  if (/[ !#-&(-[\]-~]/.test(character)) return character;
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
