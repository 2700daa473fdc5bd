import type { Input } from "./inputs.ts";
import { type Exchange, headerOf, type WireAnswer } from "./wire.ts";

/** What no input may lead to, in words; nothing if all is well. */
export function checkResponse(input: Input, exchange: Exchange): string | undefined {
  if (exchange.kind === "hung") return "no answer in time";
  if (exchange.kind === "closed") return input.spoil ? undefined : "closed without an answer";
  for (const answer of exchange.answers) {
    const fault = checkAnswer(input, answer);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function checkAnswer(input: Input, answer: WireAnswer): string | undefined {
  const { status } = answer;
  if (!(status >= 200 && status <= 599)) return `a status of ${status}`;
  const isPublic = input.operation.listener === "public";
  if (status >= 500 && !(isPublic && asksForFailure(input))) return `an unexpected ${status}`;
  if (isPublic) {
    const charge = headerOf(answer, "wallet-charge") ?? "none";
    if (status !== 200 && !charge.startsWith("0.00;")) return `a ${status} with the charge ${charge}`;
    if (status >= 400 && !isPage(input, answer) && !isProblem(answer))
      return `a ${status} in a foreign shape: ${headerOf(answer, "content-type")}`;
    if (headerOf(answer, "request-id") === undefined) return `a ${status} without a Request-Id`;
  }
  if (headerOf(answer, "content-type")?.includes("json") && input.method !== "HEAD" && !isJson(answer))
    return `a ${status} that says JSON and is not`;
  return undefined;
}

function isProblem(answer: WireAnswer): boolean {
  return headerOf(answer, "content-type")?.startsWith("application/problem+json") ?? false;
}

/** Under /docs and /console people read, and what is not there is a page too. */
function isPage({ target }: Input, answer: WireAnswer): boolean {
  return (
    /^\/(?:docs|console)\b(?!\/api)/.test(target) &&
    answer.status === 404 &&
    headerOf(answer, "content-type") === "text/html; charset=utf-8"
  );
}

/** Queries of test keys that begin with `test:`, and those that our upstream fails on. */
function asksForFailure({ body }: Input): boolean {
  const text = typeof body === "string" ? body : Buffer.from(body ?? []).toString("latin1");
  return /test:|break /.test(text);
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

/** A command that repeats the input on a server of one's own; keys are left to its owner. */
export function describeInput(input: Input, bytes: Buffer): string {
  if (input.spoil) {
    const spelt = [...bytes.toString("latin1")].map(spell).join("");
    return `printf '${spelt}' | nc -q 5 localhost ${input.operation.listener === "public" ? 8080 : 9090}`;
  }
  const host = input.operation.listener === "public" ? "localhost:8080" : "localhost:9090";
  const headers = input.headers.map(([name, value]) => `-H ${quote(value === "" ? `${name};` : `${name}: ${value}`)}`);
  const body = typeof input.body === "string" ? Buffer.from(input.body) : input.body;
  const data =
    body === undefined
      ? []
      : [`--data-binary @<(printf '${[...Buffer.from(body).toString("latin1")].map(spell).join("")}')`];
  const chunked = input.chunks ? ["-H 'Transfer-Encoding: chunked'"] : [];
  const parts = ["curl -gsi --path-as-is", "-X", quote(input.method), ...headers, ...chunked, ...data];
  return [...parts, quote(`http://${host}${input.target}`)].join(" ");
}

function spell(character: string): string {
  if (character === "%") return "%%";
  if (/[ !#-&(-[\]-~]/.test(character)) return character;
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
