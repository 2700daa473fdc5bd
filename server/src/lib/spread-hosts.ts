/**
 * One address for each host that a PostgreSQL address names. Most name one; with a replica it is libpq's list, as in
 * "postgres://role@db1:5432,db2:5432/pennyblack".
 */
export function spreadHosts(url: string): string[] {
  const [, before = "", hosts = "", after = ""] = /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/.exec(url) ?? [];
  // Which of the hosts is wanted is never in question here.
  const rest = after.replace(/([?&])target_session_attrs=[^&]*&?/, "$1").replace(/[?&]$/, "");
  return hosts.split(",").map((host) => `${before}${host}${rest}`);
}
