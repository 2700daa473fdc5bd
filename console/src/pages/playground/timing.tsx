import { Text } from "@mantine/core";
import type { Outcome } from "../../api/playground.ts";
import { formatMs } from "../../words/format-time.ts";
import classes from "./playground.module.css";
import { readTiming } from "./read-timing.ts";

const words: Record<string, string> = {
  auth: "key checked",
  hold: "cent set aside",
  upstream: "provider asked",
  rank: "results ordered",
  capture: "cent charged",
  network: "to here and back",
};

/** The way of a search through the server, to scale. */
export function Timing({ outcome }: { outcome: Outcome }) {
  const steps = readTiming(outcome.headers.get("server-timing"));
  const serverMs = steps.reduce((sum, { ms }) => sum + ms, 0);
  const totalMs = Math.max(outcome.ms, serverMs, 0.1);
  if (steps.length === 0)
    return <Text c="dimmed">The answer has no Server-Timing: it was refused before any work.</Text>;
  const rows = [...steps, { name: "network", startMs: serverMs, ms: Math.max(0, totalMs - serverMs) }];
  return (
    <>
      <table className={classes.timing}>
        <caption className="hidden-from-eyes">How long each step took</caption>
        <tbody>
          {rows.map(({ name, startMs, ms }) => (
            <tr key={name}>
              <th scope="row">
                {name}
                {words[name] !== undefined && <span className={classes.stepWords}> {words[name]}</span>}
              </th>
              <td className={classes.track} aria-hidden="true">
                <span
                  className={classes.bar}
                  data-ours={name !== "network" || undefined}
                  style={{ left: percent(startMs / totalMs), width: percent(ms / totalMs) }}
                />
              </td>
              <td className="figures mono">{formatStep(ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Text size="sm" c="dimmed" mt="sm">
        {formatStep(serverMs)} in the server&rsquo;s steps, {formatMs(totalMs)} until this browser had the answer.
      </Text>
    </>
  );
}

function formatStep(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : formatMs(ms);
}

function percent(share: number): string {
  return `${(Math.min(1, share) * 100).toFixed(2)}%`;
}
