// The only code that talks to a receiver, whose address a customer chose.
//
// A call ends within its deadline, reads at most 64 KiB, follows no redirect and never throws for what a receiver does.
// Addresses are judged when the connection is made, by the very answer of DNS that is connected to: a name that
// pointed elsewhere a moment ago gains nothing.

import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector, request } from "undici";
import { isPublicAddress } from "./public-address.ts";

export interface SenderOptions {
  /** For development and tests: plain HTTP and addresses of our own network. */
  allowPrivate: boolean;
  timeoutMs?: number;
  lookup?: LookupFunction;
}

interface Call {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Sender {
  send: (call: Call, signal: AbortSignal) => Promise<Sent>;
  close(): Promise<void>;
}

/** What came of it, in words that a delivery's log shows. */
export type Sent =
  | { ok: true; status: number }
  | { ok: false; error: "status" | "redirect"; status: number }
  | { ok: false; error: "timeout" | "unreachable" | "private_address" | "not_https" | "interrupted" };

const mostBytes = 64 * 1024;

export function createSender({ allowPrivate, timeoutMs = 10_000, lookup = systemLookup }: SenderOptions): Sender {
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    lookup: allowPrivate ? lookup : onlyPublic(lookup),
  });
  const agent = new Agent({
    allowH2: false,
    maxHeaderSize: 16_384,
    connect(options, callback) {
      // A host that is an address is never looked up.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) callback(new PrivateAddress(), null);
      else connect(options, callback);
    },
  });

  return {
    async send(call, signal) {
      if (!allowPrivate && !call.url.startsWith("https://")) return { ok: false, error: "not_https" };
      const deadline = AbortSignal.timeout(timeoutMs);
      const either = AbortSignal.any([signal, deadline]);
      try {
        const status = await untilAborted(post(agent, call, either), either);
        if (status >= 200 && status < 300) return { ok: true, status };
        return { ok: false, error: status >= 300 && status < 400 ? "redirect" : "status", status };
      } catch (error) {
        return { ok: false, error: signal.aborted ? "interrupted" : nameFault(error, deadline) };
      }
    },
    close: () => agent.destroy(),
  };
}

async function post(agent: Agent, { url, headers, body }: Call, signal: AbortSignal) {
  const answer = await request(url, {
    dispatcher: agent,
    method: "POST",
    headers: { ...headers, "content-type": "application/json", "user-agent": "pennyblack-webhooks" },
    body,
    signal,
    // Receivers are many and hear from us seldom: a connection is not kept.
    reset: true,
  });
  // The status is the answer. The rest is read so that the receiver is not cut off while it speaks, but not for ever.
  await answer.body.dump({ limit: mostBytes, signal }).catch(() => undefined);
  return answer.statusCode;
}

/** undici cannot abort while it connects, so we stop waiting first. */
function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error("gave up"));
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

function nameFault(error: unknown, deadline: AbortSignal): "timeout" | "private_address" | "unreachable" {
  if (error instanceof PrivateAddress) return "private_address";
  return deadline.aborted || (error instanceof Error && error.name === "ConnectTimeoutError")
    ? "timeout"
    : "unreachable";
}

class PrivateAddress extends Error {}

/** One private address among several is enough to refuse them all: nobody has an honest reason to mix them. */
function onlyPublic(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(error, "", 0);
      const addresses = typeof found === "string" ? [{ address: found, family: family ?? isIP(found) }] : found;
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(new PrivateAddress(), "", 0);
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
