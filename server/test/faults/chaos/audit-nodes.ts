import { type AuditReport, audit } from "../audit.ts";
import type { Journal } from "../journal.ts";
import type { ChaosCluster } from "./chaos-cluster.ts";

/**
 * Audits the data of every node when the cluster has not recovered. Nodes can then have different histories, and a paid search
 * that is missing on one may be on another. Ends Patroni on all nodes.
 */
export async function auditNodes(cluster: ChaosCluster, journal: Journal): Promise<AuditReport> {
  const { database } = cluster;
  const primary = await database.findPrimary();
  await cluster.stopServers();
  await Promise.all(database.nodes.map((node) => database.loseNode(node)));
  const reports: { name: string; report: AuditReport }[] = [];
  for (const node of database.nodes) {
    database.network.reconnect(node);
    const name = node === primary ? `${node.name} (the primary)` : node.name;
    try {
      const stop = await database.startAlone(node);
      try {
        reports.push({
          name,
          report: await audit(`postgres://pennyblack_owner@${node.address}:5432/pennyblack`, journal.read()),
        });
      } finally {
        await stop();
      }
    } catch (error) {
      reports.push({ name, report: { violations: [String(error)], counts: { ...nothing } } });
    }
  }
  const used = reports.find(({ name }) => name.startsWith(primary?.name ?? "")) ?? reports[0];
  return {
    counts: used?.report.counts ?? { ...nothing },
    violations: reports.flatMap(({ name, report: { counts, violations } }) => [
      `${name}: ${counts.lost} of ${counts.charged} paid searches are not in its ledger`,
      ...violations.slice(0, maxListed).map((violation) => `${name}: ${violation}`),
    ]),
  };
}

/** Of each node. */
const maxListed = 3;
const nothing = { charged: 0, lost: 0, replayed: 0, errors: 0, closedCharged: 0, closedFree: 0 };
