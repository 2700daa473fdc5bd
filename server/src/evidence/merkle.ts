import { hash } from "node:crypto";

// Merkle trees as in RFC 6962, section 2.1: a leaf is sha256(0x00 || data), a node sha256(0x01 || left || right). A node
// without a sibling moves up unchanged, which gives the same tree as the recursive definition.

const size = 32;

/** The root of a tree without leaves. */
export const emptyRoot = hash("sha256", "", "buffer");

export function hashLeaf(data: Buffer): Buffer {
  return hash("sha256", Buffer.concat([Buffer.of(0), data]), "buffer");
}

/** The leaf of a wallet in the tree of an hour. */
export function hashWalletLeaf(walletId: string, digest: Buffer): Buffer {
  return hashLeaf(Buffer.concat([Buffer.from(walletId.replaceAll("-", ""), "hex"), digest]));
}

/** The last leaf in the tree of an hour: the digest of the audit log and adjustments. */
export function hashRecordsLeaf(digest: Buffer): Buffer {
  return hashLeaf(Buffer.concat([Buffer.from("records"), digest]));
}

/** All levels from the leaves to the root. Each is the concatenation of its hashes. Empty without leaves. */
export function buildLevels(leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length === 0) return [];
  let level = Buffer.concat(leaves);
  const levels = [level];
  while (level.length > size) {
    const next: Buffer[] = [];
    for (let start = 0; start < level.length; start += 2 * size) {
      const pair = level.subarray(start, start + 2 * size);
      next.push(pair.length === size ? pair : hash("sha256", Buffer.concat([Buffer.of(1), pair]), "buffer"));
    }
    level = Buffer.concat(next);
    levels.push(level);
  }
  return levels;
}

export function rootOf(levels: readonly Buffer[]): Buffer {
  return levels.at(-1) ?? emptyRoot;
}

/** The sibling hashes from a leaf to the root. */
export function pathOf(levels: readonly Buffer[], index: number): Buffer[] {
  return levels.flatMap((level, height) => {
    const sibling = ((index >> height) ^ 1) * size;
    return sibling < level.length ? [level.subarray(sibling, sibling + size)] : [];
  });
}
