import { Checkbox, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Endpoint, type EventType, endpointsQuery, eventTypes } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { eventWords } from "./event-words.ts";
import { ShowSecret } from "./show-secret.tsx";

/** A new endpoint, whose secret is then shown this once, or one that is changed. */
export function EndpointForm({ endpoint, onClose }: { endpoint?: Endpoint; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [url, setUrl] = useState(endpoint?.url ?? "");
  const [description, setDescription] = useState(endpoint?.description ?? "");
  const [events, setEvents] = useState<EventType[]>(endpoint?.events ?? [...eventTypes]);
  const [error, setError] = useState<string>();
  const save = useMutation({
    mutationFn: () =>
      api<Endpoint & { secret?: string }>(walletPath(id, endpoint ? `webhooks/${endpoint.id}` : "webhooks"), {
        method: endpoint ? "PATCH" : "POST",
        body: { url: url.trim(), description: description.trim(), events },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries(endpointsQuery(id));
      if (endpoint) onClose();
    },
  });
  if (save.data?.secret !== undefined) return <ShowSecret secret={save.data.secret} onClose={onClose} />;
  const submit = (): void => {
    const isWrong = !/^https?:\/\/[^\s/]/.test(url.trim());
    setError(isWrong ? "An https address on the public internet." : undefined);
    if (!isWrong) save.mutate();
  };
  return (
    <Dialog
      title={endpoint ? "Change the endpoint" : "Add an endpoint"}
      action={endpoint ? "Save" : "Add endpoint"}
      size="lg"
      isReady={events.length > 0}
      onClose={onClose}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={submit}
    >
      <TextInput
        label="Address"
        placeholder="https://example.org/hooks/pennyblack"
        type="url"
        data-autofocus
        value={url}
        error={error}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <TextInput
        label="Note"
        description="For your own use"
        maxLength={200}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <EventBoxes events={events} onChange={setEvents} />
    </Dialog>
  );
}

function EventBoxes({ events, onChange }: { events: EventType[]; onChange: (events: EventType[]) => void }) {
  return (
    <Checkbox.Group label="Tell it when" value={events} onChange={onChange}>
      <Stack gap={8} mt={6}>
        {eventTypes.map((type) => (
          <Checkbox
            key={type}
            value={type}
            label={eventWords[type]}
            description={<span className="mono">{type}</span>}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
