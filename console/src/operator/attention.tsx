import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import classes from "./operator.module.css";
import { attentionQuery } from "./queries.ts";

/** Quiet when all is well. What is wrong comes first, in a sentence, with what to do about it. */
export function Attention() {
  const { data, error } = useQuery(attentionQuery);
  if (error) {
    return (
      <div className={classes.attention} role="alert">
        <Text fw={600}>It cannot be told whether anything is wrong.</Text>
        <Text size="sm">This server does not answer, or its database does not. Look at /readyz.</Text>
      </div>
    );
  }
  if (!data || data.items.length === 0) return undefined;
  return (
    <div role="alert">
      <ul className={classes.attention} aria-label="Needs attention">
        {data.items.map(({ title, detail, runbook, severity }) => (
          <li key={title} data-severity={severity}>
            <Text fw={600}>{title}</Text>
            <Text size="sm">
              {detail}{" "}
              <Anchor href={runbook} size="sm" inherit underline="always">
                What to do
              </Anchor>
            </Text>
          </li>
        ))}
      </ul>
    </div>
  );
}
