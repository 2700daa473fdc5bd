import { createHash, createHmac, type KeyObject, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Secrets } from "../lib/secrets.ts";
import { isReading } from "./route.ts";

// Authenticates operators for /operator/* on the internal listener: by a token in a header or, in a browser, by a session
// cookie obtained with a token. The cookie is signed and not stored on the server. It is bound to the operator's name and
// token, and expires after eight hours, or immediately when the token is removed.

/** Someone who runs the service. The name is for the log, the token grants access to /operator/*. */
export interface Operator {
  name: string;
  token: string;
}

export interface Operators {
  /** The operator who sent the request, if its token or cookie is valid. */
  find: (request: { method: string; headers: IncomingHttpHeaders }) => Operator | undefined;
  /** The Set-Cookie of a new session. */
  openSession: (operator: Operator) => string;
  /** Compares with every token, each in constant time. */
  findByToken: (token: string) => Operator | undefined;
}

export interface OperatorsOptions {
  operators: readonly Operator[];
  /** Signs sessions. Undefined if sessions are disabled. */
  secrets?: Secrets | undefined;
  now?: () => number;
}

const cookieName = "pennyblack_operator";
const sessionSeconds = 8 * 3_600;

export const closeSession = setCookie("", 0);

export function createOperators({ operators, secrets, now = Date.now }: OperatorsOptions): Operators {
  const known = operators.map((operator) => ({ operator, digest: digestOf(operator.token) }));

  function findByToken(token: string): Operator | undefined {
    const digest = digestOf(token);
    return known.filter((candidate) => timingSafeEqual(candidate.digest, digest))[0]?.operator;
  }

  function findBySession(cookie: string): Operator | undefined {
    const [name, until = "", signature = ""] = cookie.split("~");
    const found = known.find(({ operator }) => operator.name === name);
    if (!found || !secrets || !/^\d{1,12}$/.test(until) || Number(until) * 1_000 <= now()) return undefined;
    const digest = digestOf(signature);
    const isSigned = secrets.all.some(({ key }) => timingSafeEqual(digest, digestOf(sign(key, found, until))));
    return isSigned ? found.operator : undefined;
  }

  return {
    findByToken,
    find({ method, headers }) {
      const token = /^bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
      if (token !== undefined) return findByToken(token);
      const cookie = readCookie(headers.cookie);
      const mayBeForged = !isReading(method) && !isFromOwnPage(headers);
      return cookie === undefined || mayBeForged ? undefined : findBySession(cookie);
    },
    openSession(operator) {
      if (!secrets) throw new Error("sessions need a secret");
      const until = String(Math.floor(now() / 1_000) + sessionSeconds);
      const signature = sign(secrets.writer.key, { operator, digest: digestOf(operator.token) }, until);
      return setCookie([operator.name, until, signature].join("~"), sessionSeconds);
    },
  };
}

/**
 * CSRF protection: a page on another site can make a browser send our cookie, but not a custom header. If the browser
 * sends the origin, it must be our own as well.
 */
function isFromOwnPage({
  host,
  origin,
  "sec-fetch-site": site,
  "x-pennyblack-csrf": csrf,
}: IncomingHttpHeaders): boolean {
  const isOwnOrigin = origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
  return csrf === "1" && isOwnOrigin && (site === undefined || site === "same-origin");
}

function sign(secret: KeyObject, { operator, digest }: { operator: Operator; digest: Buffer }, until: string): string {
  const text = ["operator session", operator.name, until, digest.toString("hex")].join("\0");
  return createHmac("sha256", secret).update(text).digest("base64url");
}

function setCookie(value: string, maxAge: number): string {
  return `${cookieName}=${value}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Strict`;
}

function readCookie(header: string | undefined): string | undefined {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
