import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { RelativeTime } from "../components/relative-time.tsx";
import classes from "./operator.module.css";
import { type AttentionItem, attentionQuery } from "./queries.ts";

/** Current problems with links to their runbooks. Empty when there are none. */
export function Attention() {
  const { data, error } = useQuery(attentionQuery);
  if (error) {
    return (
      <div className={classes.attention} role="alert">
        <Text fw={600}>Couldn't check for problems.</Text>
        <Text size="sm">This server or its database is not responding. Check /readyz.</Text>
      </div>
    );
  }
  if (!data || data.items.length === 0) return undefined;
  return (
    <div role="alert">
      <ul className={classes.attention} aria-label="Needs attention">
        {data.items.map((item) => (
          <li key={item.title} data-severity={item.severity}>
            <ProblemText item={item} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Inherits the color of the title. */
export function ProblemText({ item: { title, detail, runbook } }: { item: AttentionItem }) {
  return (
    <>
      <Text fw={600}>{title}</Text>
      <Text size="sm" c="var(--mantine-color-text)">
        <Detail text={detail} />{" "}
        <Anchor href={runbook} size="sm" inherit underline="always">
          Runbook
        </Anchor>
      </Text>
    </>
  );
}

/** Times in the text become relative. */
function Detail({ text }: { text: string }) {
  return text
    .split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((part, index) => (index % 2 === 1 ? <RelativeTime key={part} at={part} /> : part));
}
