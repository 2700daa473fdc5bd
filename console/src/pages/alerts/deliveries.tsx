import { Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { type Delivery, deliveriesQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { StateWord, type Tone } from "../../parts/state-word.tsx";
import { Failure, Refusal, RowsSkeleton } from "../../parts/states.tsx";
import { ActCell, Cell, type Column, HeadCell, Row, Table } from "../../parts/table.tsx";
import classes from "./alerts.module.css";
import { tellDelivery } from "./event-words.ts";

const columns: Column[] = [
  { name: "Event" },
  { name: "When" },
  { name: "State" },
  { name: "Send again", isQuiet: true },
];

/** What was sent there in the last thirty days, and what came of it. */
export function Deliveries({ endpointId }: { endpointId: string }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(deliveriesQuery(id, endpointId));
  const deliveries = list.data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <div className={classes.log}>
      {list.isPending && <RowsSkeleton rows={3} />}
      {list.isError && !list.data && (
        <Failure error={list.error} what="The deliveries could not be read." retry={() => list.refetch()} />
      )}
      {list.data && deliveries.length === 0 && (
        <Text size="sm" c="dimmed" py="xs">
          Nothing was sent here in the last 30 days. Send a test event to see that it arrives.
        </Text>
      )}
      {deliveries.length > 0 && (
        <Table label="Deliveries" columns={columns}>
          {deliveries.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} endpointId={endpointId} />
          ))}
        </Table>
      )}
      {list.hasNextPage && (
        <Button
          variant="default"
          size="xs"
          my="xs"
          loading={list.isFetchingNextPage}
          onClick={() => list.fetchNextPage()}
        >
          Older
        </Button>
      )}
    </div>
  );
}

const states: Record<Delivery["status"], [Tone, string]> = {
  delivered: ["success", "Delivered"],
  pending: ["warning", "On its way"],
  failed: ["danger", "Failed"],
};

function DeliveryRow({ delivery, endpointId }: { delivery: Delivery; endpointId: string }) {
  const { id, mayChange } = useWallet();
  const queries = useQueryClient();
  const replay = useMutation({
    mutationFn: () => api<Delivery>(walletPath(id, `webhooks/deliveries/${delivery.id}/replay`), { method: "POST" }),
    onSuccess: () => queries.invalidateQueries({ queryKey: deliveriesQuery(id, endpointId).queryKey }),
  });
  const [tone, word] = states[delivery.status];
  return (
    <Row>
      <HeadCell>
        <span className="mono">{delivery.event.type}</span>
      </HeadCell>
      <Cell label="When">
        <Moment at={delivery.created_at} />
      </Cell>
      <Cell label="State">
        <StateWord tone={tone}>{word}</StateWord>
        <Text size="xs" c="dimmed">
          {tellDelivery(delivery)}
          {delivery.next_attempt_at !== null && delivery.attempts > 0 && (
            <>
              . Next try <Moment at={delivery.next_attempt_at} />
            </>
          )}
        </Text>
      </Cell>
      <ActCell>
        {mayChange && delivery.status !== "pending" && (
          <Button variant="subtle" size="compact-xs" loading={replay.isPending} onClick={() => replay.mutate()}>
            Send again
          </Button>
        )}
        <Refusal error={replay.error} />
      </ActCell>
    </Row>
  );
}
