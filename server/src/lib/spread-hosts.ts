/**
 * Splits a PostgreSQL URL with libpq's list of hosts, such as "postgres://role@db1:5432,db2:5432/pennyblack", into one URL
 * per host.
 */
export function spreadHosts(url: string): string[] {
  const [, before = "", hosts = "", after = ""] = /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/.exec(url) ?? [];
  // libpq's choice of a host does not apply to a single host.
  const rest = after.replace(/([?&])target_session_attrs=[^&]*&?/, "$1").replace(/[?&]$/, "");
  return hosts.split(",").map((host) => `${before}${host}${rest}`);
}
