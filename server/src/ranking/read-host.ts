import { parse } from "tldts";

export interface HostFacts {
  /** The registered domain, or the host itself where there is none: two pages of one site share it. */
  site: string;
  /** The registered name without its suffix: `bbc` of news.bbc.co.uk. */
  name: string;
  /** The public suffix of a registry, such as `co.uk`; never that of a hosting platform. */
  suffix: string;
  /** Is it a subdomain that a hosting platform, such as github.io, gives to its customers? */
  isPrivate: boolean;
  /** What stands before the registered domain: `news` of news.bbc.co.uk. */
  labels: string[];
}

export function readHost(host: string): HostFacts {
  const own = parse(host, { allowPrivateDomains: true });
  const isPrivate = own.isPrivate === true && own.domain !== null;
  // A platform's customers stand below a registry's suffix as well: foo.service.gov.uk is still government.
  const registry = own.isPrivate === true ? parse(host, { allowPrivateDomains: false }) : own;
  return {
    site: own.domain ?? host,
    name: own.domainWithoutSuffix ?? "",
    suffix: registry.isIp === true ? "" : (registry.publicSuffix ?? ""),
    isPrivate,
    labels: (own.subdomain ?? "").split(".").filter(Boolean),
  };
}
