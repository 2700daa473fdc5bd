import { Text } from "@mantine/core";
import type { PlaygroundResponse } from "../../api/playground.ts";
import { formatMs } from "../../format/format-time.ts";
import { parseServerTiming } from "./parse-server-timing.ts";
import classes from "./playground.module.css";

const stepLabels: Record<string, string> = {
  auth: "check the key",
  hold: "hold the price",
  upstream: "query the upstream",
  rank: "rank the results",
  capture: "charge",
  network: "to and from the browser",
};

/** Waterfall of the Server-Timing header. */
export function Timing({ response }: { response: PlaygroundResponse }) {
  const steps = parseServerTiming(response.headers.get("server-timing"));
  const serverMs = steps.reduce((sum, { ms }) => sum + ms, 0);
  const totalMs = Math.max(response.ms, serverMs, 0.1);
  if (steps.length === 0)
    return <Text c="dimmed">No Server-Timing header: the request was rejected before processing.</Text>;
  const rows = [...steps, { name: "network", startMs: serverMs, ms: Math.max(0, totalMs - serverMs) }];
  return (
    <>
      <table className={classes.timing}>
        <caption className="visually-hidden">Duration of each step</caption>
        <tbody>
          {rows.map(({ name, startMs, ms }) => (
            <tr key={name}>
              <th scope="row">
                {name}
                {stepLabels[name] !== undefined && <span className={classes.stepLabel}> {stepLabels[name]}</span>}
              </th>
              <td className={classes.track} aria-hidden="true">
                <span
                  className={classes.bar}
                  data-ours={name !== "network" || undefined}
                  style={{ left: percent(startMs / totalMs), width: percent(ms / totalMs) }}
                />
              </td>
              <td className="numeric mono">{formatStep(ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Text size="sm" c="dimmed" mt="sm">
        {formatStep(serverMs)} in the server, {formatMs(totalMs)} until the browser received the response.
      </Text>
    </>
  );
}

function formatStep(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : formatMs(ms);
}

function percent(ratio: number): string {
  return `${(Math.min(1, ratio) * 100).toFixed(2)}%`;
}
