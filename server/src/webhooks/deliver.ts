// The only code that connects to webhook receivers, whose URLs are chosen by customers.
//
// A call ends within its timeout, reads at most 64 KiB, follows no redirect and never throws because of the receiver. The
// address is checked on the same DNS answer that the connection uses, which rules out DNS rebinding.

import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector, request } from "undici";
import { createDnsLookup } from "./dns-lookup.ts";
import { isPublicAddress } from "./public-address.ts";

export interface SenderOptions {
  /** For development and tests: allows plain HTTP and private addresses. */
  allowPrivate: boolean;
  timeoutMs?: number;
  /** Default: those of the system. */
  nameServers?: readonly string[];
  lookup?: LookupFunction;
}

interface Call {
  url: string;
  headers: Record<string, string>;
  body: string;
}

export interface Sender {
  send: (call: Call, signal: AbortSignal) => Promise<SendResult>;
  close(): Promise<void>;
}

/** The error codes are shown in the delivery log. */
export type SendResult =
  | { ok: true; status: number }
  | { ok: false; error: "status" | "redirect"; status: number }
  | { ok: false; error: "timeout" | "unreachable" | "private_address" | "not_https" | "interrupted" };

const maxBytes = 64 * 1024;

export function createSender({ allowPrivate, timeoutMs = 10_000, nameServers, ...options }: SenderOptions): Sender {
  // Names of private addresses can be in a host file.
  const lookup = options.lookup ?? (allowPrivate ? systemLookup : createDnsLookup(nameServers));
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    lookup: allowPrivate ? lookup : onlyPublic(lookup),
  });
  const agent = new Agent({
    allowH2: false,
    maxHeaderSize: 16_384,
    connect(options, callback) {
      // An IP address in the URL is not looked up, so check it here.
      const host = options.hostname.replace(/^\[(.*)\]$/, "$1");
      if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) callback(new NoPublicAddress(), null);
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
        return { ok: false, error: signal.aborted ? "interrupted" : classifyError(error, deadline) };
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
    // No keep-alive: there are many receivers with few deliveries each.
    reset: true,
  });
  // Only the status matters. The body is drained up to a limit so that the receiver can finish its response.
  await answer.body.dump({ limit: maxBytes, signal }).catch(() => undefined);
  return answer.statusCode;
}

/** undici cannot abort a pending connection, so stop waiting for it instead. */
function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error("aborted"));
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

function classifyError(error: unknown, deadline: AbortSignal): "timeout" | "private_address" | "unreachable" {
  if (error instanceof NoPublicAddress) return "private_address";
  return deadline.aborted || (error instanceof Error && error.name === "ConnectTimeoutError")
    ? "timeout"
    : "unreachable";
}

class NoPublicAddress extends Error {}

/**
 * Rejects the whole answer if any address is private: there is no legitimate reason to mix them. A name that cannot be resolved
 * is rejected with the same error, which otherwise would reveal the names of our own network.
 */
function onlyPublic(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(new NoPublicAddress(), "", 0);
      const addresses = typeof found === "string" ? [{ address: found, family: family ?? isIP(found) }] : found;
      const [first] = addresses;
      if (!first || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(new NoPublicAddress(), "", 0);
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
