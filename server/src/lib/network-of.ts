import { isIPv6 } from "node:net";

/** The /64 network of an IPv6 address, because one host usually controls all of it; otherwise the address itself. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.toLowerCase().split("::");
  const [first, last] = [head, tail ?? ""].map((half) => half.split(":").filter(Boolean)) as [string[], string[]];
  const gap = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: gap }, () => "0"), ...last].slice(0, 4).join(":");
}
