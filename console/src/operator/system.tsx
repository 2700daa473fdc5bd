import { useQuery } from "@tanstack/react-query";
import { Figure } from "../parts/figure.tsx";
import { Page } from "../parts/page.tsx";
import { Failure, RowsSkeleton } from "../parts/states.tsx";
import classes from "./operator.module.css";
import { systemQuery } from "./queries.ts";

export function System() {
  const { data, error, refetch } = useQuery(systemQuery);
  return (
    <Page title="System" about="This server and its database, as they are now. /metrics has the same over time.">
      {error && <Failure error={error} what="The system could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      <div className={classes.facts}>
        {Object.entries(data ?? {}).map(([name, value]) => (
          <Figure key={name} label={name} value={JSON.stringify(value)} />
        ))}
      </div>
    </Page>
  );
}
