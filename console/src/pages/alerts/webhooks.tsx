import { Anchor, Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { endpointsQuery } from "../../api/alerts.ts";
import { Section } from "../../components/page.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { EndpointCard } from "./endpoint-card.tsx";
import { EndpointForm } from "./endpoint-form.tsx";

const maxEndpoints = 10;

export function Webhooks() {
  const { id, canEdit } = useWallet();
  const endpoints = useQuery(endpointsQuery(id));
  const [isAdding, setIsAdding] = useState(false);
  const count = endpoints.data?.length ?? 0;
  return (
    <Section
      title="Webhooks"
      description={`Signed events sent to your servers. ${count >= maxEndpoints ? "You have reached the limit of ten endpoints." : ""}`}
      actions={
        canEdit && (
          <Button disabled={!endpoints.data || count >= maxEndpoints} onClick={() => setIsAdding(true)}>
            Add endpoint
          </Button>
        )
      }
    >
      <QueryState query={endpoints} title="Couldn't load endpoints." rows={3} />
      {endpoints.data && count === 0 && (
        <EmptyState
          title="No endpoints yet"
          action={
            <Anchor href="/docs/webhooks" target="_blank" size="sm">
              How to receive and verify events
            </Anchor>
          }
        >
          Add an https URL to receive events such as a low balance, a top-up or a spent budget. Events are signed, and
          retried for days if your server is down.
        </EmptyState>
      )}
      {endpoints.data?.map((endpoint) => (
        <EndpointCard key={endpoint.id} endpoint={endpoint} />
      ))}
      {isAdding && <EndpointForm onClose={() => setIsAdding(false)} />}
    </Section>
  );
}
