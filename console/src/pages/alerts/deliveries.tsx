import { Button, Text } from "@mantine/core";
import type { Delivery } from "@pennyblack/sdk";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { deliveriesQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { InlineError, LoadMore, QueryState } from "../../components/states.tsx";
import { StatusBadge, type Tone } from "../../components/status-badge.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./alerts.module.css";
import { describeDelivery } from "./describe-delivery.ts";

const columns: Column[] = [
  { name: "Event" },
  { name: "Time" },
  { name: "Status" },
  { name: "Actions", isHeaderHidden: true },
];

/** Deliveries of the last 30 days. */
export function Deliveries({ endpointId }: { endpointId: string }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(deliveriesQuery(id, endpointId));
  const deliveries = list.data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <div className={classes.log}>
      <QueryState query={list} title="Couldn't load deliveries." rows={3} />
      {list.data && deliveries.length === 0 && (
        <Text size="sm" c="dimmed" py="xs">
          No deliveries in the last 30 days. Send a test event to check your endpoint.
        </Text>
      )}
      {deliveries.length > 0 && (
        <Table label="Deliveries" columns={columns}>
          {deliveries.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} endpointId={endpointId} />
          ))}
        </Table>
      )}
      <LoadMore query={list} size="xs" mt="xs" mb="xs" />
    </div>
  );
}

const states: Record<Delivery["status"], [Tone, string]> = {
  delivered: ["success", "Delivered"],
  pending: ["warning", "Pending"],
  failed: ["danger", "Failed"],
};

function DeliveryRow({ delivery, endpointId }: { delivery: Delivery; endpointId: string }) {
  const { id, canEdit } = useWallet();
  const queries = useQueryClient();
  const replay = useMutation({
    mutationFn: () => api<Delivery>(walletPath(id, `webhooks/deliveries/${delivery.id}/replay`), { method: "POST" }),
    onSuccess: () => queries.invalidateQueries({ queryKey: deliveriesQuery(id, endpointId).queryKey }),
  });
  const [tone, label] = states[delivery.status];
  return (
    <Row>
      <RowHeader>
        <span className="mono">{delivery.event.type}</span>
      </RowHeader>
      <Cell label="Time">
        <RelativeTime at={delivery.created_at} />
      </Cell>
      <Cell label="Status">
        <StatusBadge tone={tone}>{label}</StatusBadge>
        <Text size="xs" c="dimmed">
          {describeDelivery(delivery)}
          {delivery.next_attempt_at !== null && delivery.attempts > 0 && (
            <>
              ; next attempt <RelativeTime at={delivery.next_attempt_at} />
            </>
          )}
        </Text>
      </Cell>
      <ActionsCell>
        {canEdit && delivery.status !== "pending" && (
          <Button variant="subtle" size="compact-xs" loading={replay.isPending} onClick={() => replay.mutate()}>
            Resend
          </Button>
        )}
        <InlineError error={replay.error} />
      </ActionsCell>
    </Row>
  );
}
