import { BlockList, isIP } from "node:net";

/**
 * Whether an IP address is on the public internet. Customers choose the webhook URLs, so every other address is refused:
 * this machine, our own network, and the metadata services of cloud providers, which hand out credentials.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !notPublic.check(address, "ipv4");
  // Global unicast only. This excludes loopback, link-local, unique local and multicast addresses, and IPv4 addresses
  // written as ::ffff:0:0/96 (mapped) or 64:ff9b::/96 (NAT64).
  return (
    family === 6 && !address.includes("%") && globalUnicast.check(address, "ipv6") && !notPublic.check(address, "ipv6")
  );
}

// https://www.iana.org/assignments/iana-ipv4-special-registry and -ipv6-special-registry.
const notPublic = networks(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10", // carrier-grade NAT; also the metadata service 100.100.100.200
  "127.0.0.0/8",
  "168.63.129.16/32", // metadata service at a public address
  "169.254.0.0/16", // link-local; also the metadata service 169.254.169.254
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3", // multicast, reserved, broadcast
  "2001::/23", // Teredo and other protocols, some of which embed an IPv4 address
  "2001:db8::/32",
  "2002::/16", // 6to4 embeds an IPv4 address
  "3fff::/20",
);

const globalUnicast = networks("2000::/3");

function networks(...list: string[]): BlockList {
  const block = new BlockList();
  for (const network of list) {
    const [address = "", bits] = network.split("/");
    block.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return block;
}
