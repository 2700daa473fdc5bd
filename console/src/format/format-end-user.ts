/** The first characters of a hash, which starts with `~`. An id that is stored as it was sent is shown whole. */
export function formatEndUser(endUser: string): string {
  return endUser.startsWith("~") ? `${endUser.slice(0, 9)}…` : endUser;
}
