import { Text } from "@mantine/core";
import { Meter } from "../components/meter.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { formatMoney } from "../format/format-money.ts";
import { formatCount } from "../format/format-time.ts";
import classes from "./operator.module.css";
import type { Circuit, Upstream, UpstreamKey } from "./queries.ts";

/** The cost cap of an upstream, and the state of its keys. */
export function Quota({ upstream: { name, cap, keys = [] } }: Readonly<{ upstream: Upstream }>) {
  return (
    <>
      {cap && <CapMeter name={name} cap={cap} />}
      {keys.length > 0 && (
        <ul className={classes.keys} aria-label={`Keys of ${name}`}>
          {keys.map((key) => (
            <KeyLine key={key.key} line={key} />
          ))}
        </ul>
      )}
    </>
  );
}

function CapMeter({ name, cap }: Readonly<{ name: string; cap: NonNullable<Upstream["cap"]> }>) {
  const { amount, spent, period, ratio, resets_at: resetsAt, is_shared: isShared } = cap;
  const isReached = ratio >= 1;
  return (
    <div className={classes.quota}>
      <Text size="xs" c={isReached ? "var(--pb-danger)" : "dimmed"}>
        {formatMoney(spent)} of {formatMoney(amount)} this {period}
        {isReached ? ", not called, resets " : ", resets "}
        <RelativeTime at={resetsAt} />
      </Text>
      <Meter spent={spent} limit={amount} isFull={isReached} label={`Cost cap of ${name}`} />
      {!isShared && (
        <Text size="xs" c="dimmed">
          This server cannot read Redis, so this is counted from usage and lags by up to ten seconds.
        </Text>
      )}
    </div>
  );
}

const states = { closed: "active", trial: "probing", open: "circuit open" } as const;

function KeyLine({ line: { key, circuit, calls, failures, last_failure: failure } }: Readonly<{ line: UpstreamKey }>) {
  return (
    <li className={classes.label}>
      <span className={classes.status} data-state={circuit.state}>
        <code>{key}</code> {states[circuit.state]}
        <NextProbe circuit={circuit} />
      </span>
      {`, ${formatCount(calls, "call")}, ${formatCount(failures, "failure")}`}
      {failure && ` (last: ${failure.reason.replaceAll("_", " ")})`}
    </li>
  );
}

/** When an open circuit lets the next call through. */
export function NextProbe({ circuit }: Readonly<{ circuit: Circuit }>) {
  if (circuit.state !== "open" || circuit.until === null) return undefined;
  return (
    <>
      , next probe <RelativeTime at={circuit.until} />
    </>
  );
}
