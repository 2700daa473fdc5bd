import { until } from "../assertions/until.ts";

// Requests to the REST API of Patroni.

interface Agent {
  name: string;
  apiUrl: string;
}

export async function hasSynchronousReplica(primary: Agent): Promise<boolean> {
  const members = await readMembers(primary).catch(() => []);
  return (
    members.some(({ name, role }) => name === primary.name && role === "leader") &&
    members.some(({ role }) => role === "sync_standby")
  );
}

async function readMembers({ apiUrl }: Agent): Promise<{ name: string; role: string }[]> {
  const reply = await fetch(`${apiUrl}/cluster`, { signal: AbortSignal.timeout(2_000) });
  return ((await reply.json()) as { members: { name: string; role: string }[] }).members;
}

/** False once the lock of the old primary has expired, and no node is on record that may take it. */
export async function isElectionOpen(others: readonly Agent[]): Promise<boolean> {
  const members = (await Promise.all(others.map((node) => readMembers(node).catch(() => [])))).flat();
  return members.length === 0 || members.some(({ role }) => role === "leader" || role === "sync_standby");
}

/** Patroni refuses while it has recorded no synchronous standby, which is for some seconds after a promotion. */
export function switchOver(primary: Agent): Promise<void> {
  return until("Patroni accepts the switchover", async () => {
    try {
      await callAgent(primary, "switchover", { leader: primary.name });
      return true;
    } catch (error) {
      if (String(error).includes("can not find sync_standby")) return false;
      throw error;
    }
  });
}

export async function callAgent(
  { apiUrl }: Agent,
  command: "reinitialize" | "switchover",
  body: object,
): Promise<void> {
  const reply = await fetch(`${apiUrl}/${command}`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from("patroni:...").toString("base64")}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(120_000),
  });
  if (!reply.ok) throw new Error(`${command}: ${reply.status} ${await reply.text()}`);
}
