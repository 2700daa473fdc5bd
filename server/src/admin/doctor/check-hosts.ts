import { type HostState, readHosts } from "../../db/find-primary.ts";
import { spreadHosts } from "../../lib/spread-hosts.ts";
import type { DoctorConfig } from "./check-settings.ts";
import { error, type Finding, findingsOf, warning } from "./finding.ts";

const runbook = "See docs/runbooks/two-primaries.md.";
const patroniPort = 8008;
/** The first version whose leader does not overwrite the lock of its successor with the v3 protocol of etcd. */
const minPatroni = [3, 0, 3];

/** The hosts of a database with replicas, and the Patroni on each. */
export async function checkHosts({ ledgerDatabaseUrl }: DoctorConfig): Promise<Finding[]> {
  if (spreadHosts(ledgerDatabaseUrl).length === 1) return [];
  const hosts = await readHosts(ledgerDatabaseUrl);
  const patroni = await Promise.all(hosts.map(checkPatroni));
  return [...checkHistories(hosts), ...patroni.flat()];
}

function checkHistories(hosts: readonly HostState[]): Finding[] {
  const primaries = hosts.filter(({ role }) => role === "primary").map(({ name }) => name);
  return findingsOf(
    primaries.length > 1 &&
      error(`${primaries.join(" and ")} accept writes. Only one of them is the primary.`, runbook),
    ...hosts.map(({ name, role, diverged }) => {
      if (role === "unreachable")
        return error(`The database host ${name} does not respond.`, "See docs/runbooks/replica-lost.md.");
      return (
        diverged !== undefined &&
        error(
          `${name} has charges of timeline ${diverged}, which the primary ${primaries[0]} lacks. Servers sell nothing.`,
          runbook,
        )
      );
    }),
  );
}

/** Patroni's REST API on its default port. Nothing is reported if there is none, as with CloudNativePG. */
async function checkPatroni({ name }: HostState): Promise<Finding[]> {
  const url = `http://${name.replace(/:\d+$/, "")}:${patroniPort}/patroni`;
  try {
    // oxlint-disable-next-line no-restricted-globals -- the operator's own database node, not an upstream.
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    const { patroni } = (await response.json()) as { patroni?: { version?: string } };
    const version = patroni?.version;
    return findingsOf(
      version !== undefined &&
        isBefore(version, minPatroni) &&
        warning(
          `Patroni ${version} on ${name} can make a former primary leader again if it uses the v3 protocol of etcd (PATRONI_ETCD3_HOSTS).`,
          "Use PATRONI_ETCD_HOSTS as in deploy/patroni/node.env, or upgrade to 3.0.3.",
        ),
    );
  } catch {
    return [];
  }
}

function isBefore(version: string, min: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  const index = min.findIndex((part, at) => part !== (parts[at] ?? 0));
  return index >= 0 && (parts[index] ?? 0) < (min[index] ?? 0);
}
