import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { endpointsQuery } from "../../api/alerts.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Section } from "../../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { EndpointCard } from "./endpoint-card.tsx";
import { EndpointForm } from "./endpoint-form.tsx";

const mostEndpoints = 10;

export function Webhooks() {
  const { id, mayChange } = useWallet();
  const endpoints = useQuery(endpointsQuery(id));
  const [isAdding, setIsAdding] = useState(false);
  const count = endpoints.data?.length ?? 0;
  return (
    <Section
      title="Webhooks"
      about={`Signed events to addresses of yours. ${count >= mostEndpoints ? "There are ten, which is as many as there may be." : ""}`}
      actions={
        mayChange && (
          <Button disabled={!endpoints.data || count >= mostEndpoints} onClick={() => setIsAdding(true)}>
            Add endpoint
          </Button>
        )
      }
    >
      {endpoints.isPending && <RowsSkeleton rows={3} />}
      {endpoints.isError && !endpoints.data && (
        <Failure error={endpoints.error} what="The endpoints could not be read." retry={() => endpoints.refetch()} />
      )}
      {endpoints.data && count === 0 && (
        <Empty title="No endpoint yet">
          Add an https address, and your program hears of a low balance, a top-up or a spent budget within seconds. Each
          event is signed, and tried again for days until it arrives.
        </Empty>
      )}
      {endpoints.data?.map((endpoint) => (
        <EndpointCard key={endpoint.id} endpoint={endpoint} />
      ))}
      {isAdding && <EndpointForm onClose={() => setIsAdding(false)} />}
    </Section>
  );
}
