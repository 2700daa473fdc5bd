import { Resolver } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { callbackify } from "node:util";

/**
 * Queries the name servers directly, by default those of the system. The look-up of Node, getaddrinfo, occupies one of four
 * threads of the process until it ends, so that four receivers with slow name servers would delay all others. Host files
 * and search domains do not apply, which a public name does not need.
 */
export function createDnsLookup(nameServers?: readonly string[]): LookupFunction {
  // Two attempts per name server. The timeout of the delivery applies as well.
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  if (nameServers) resolver.setServers(nameServers);

  async function resolve(hostname: string): Promise<{ address: string; family: 4 | 6 }[]> {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (ipv4.status === "rejected" && ipv6.status === "rejected") throw ipv4.reason;
    return [
      ...(ipv4.status === "fulfilled" ? ipv4.value : []).map((address) => ({ address, family: 4 as const })),
      ...(ipv6.status === "fulfilled" ? ipv6.value : []).map((address) => ({ address, family: 6 as const })),
    ];
  }

  const resolveWithCallback = callbackify(resolve);
  return (hostname, { all }, callback) =>
    resolveWithCallback(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error) callback(error, "");
      else if (all) callback(null, addresses);
      else callback(null, first?.address ?? "", first?.family);
    });
}
