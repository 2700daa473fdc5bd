import { parse } from "tldts";

export interface HostFacts {
  /** The registered domain, shared by all hosts of a site, or the host itself if there is none. */
  site: string;
  /** The registered domain without its suffix: `bbc` in news.bbc.co.uk. */
  name: string;
  /** The registry's public suffix, such as `co.uk`; never that of a hosting platform. */
  suffix: string;
  /** Whether it is a customer subdomain of a hosting platform such as github.io. */
  isPrivate: boolean;
  /** The labels before the registered domain, among the last ten: `news` in news.bbc.co.uk. */
  labels: string[];
}

/** Labels before the last ten are ignored: no site needs them, and a host can have 127. */
export const maxLabels = 10;

export function readHost(host: string): HostFacts {
  const known = host.split(".").slice(-maxLabels).join(".");
  const own = parse(known, { allowPrivateDomains: true });
  const isPrivate = own.isPrivate === true && own.domain !== null;
  // A platform's customers are also under a registry's suffix: foo.service.gov.uk is still government.
  const registry = own.isPrivate === true ? parse(known, { allowPrivateDomains: false }) : own;
  return {
    site: own.domain ?? host,
    name: own.domainWithoutSuffix ?? "",
    suffix: registry.isIp === true ? "" : (registry.publicSuffix ?? ""),
    isPrivate,
    labels: (own.subdomain ?? "").split(".").filter(Boolean),
  };
}
