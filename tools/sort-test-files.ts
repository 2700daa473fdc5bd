/**
 * The order in which files run, a few at a time. Chromium aborts requests when a network interface is
 * added, so that the files with a browser are first and those that create networks come long after them. Fast files are last,
 * so that no core waits for a slow one at the end.
 */
const groups: readonly RegExp[] = [
  /^server\/test\/console\//,
  /^(server\/test|examples|deploy|bench)\/(?!faults\/chaos|processes\/(failover|two-primaries)|image)/,
  /^server\/test\/faults\/chaos\/|^server\/test\/processes\/|^deploy\/image\//,
];

export function sortTestFiles(files: readonly string[]): string[] {
  const groupOf = (file: string): number => {
    const group = groups.findIndex((pattern) => pattern.test(file));
    return group === -1 ? groups.length : group;
  };
  return files.toSorted((left, right) => groupOf(left) - groupOf(right) || (left < right ? -1 : 1));
}
