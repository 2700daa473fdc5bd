import { Checkbox, Stack, TextInput } from "@mantine/core";
import type { EventType, Webhook } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { endpointsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { eventDescriptions, eventTypes } from "./describe-delivery.ts";
import { SigningSecretDialog } from "./signing-secret-dialog.tsx";

/** Creates or edits an endpoint. The secret of a new one is shown once. */
export function EndpointForm({ endpoint, onClose }: { endpoint?: Webhook; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [url, setUrl] = useState(endpoint?.url ?? "");
  const [description, setDescription] = useState(endpoint?.description ?? "");
  const [events, setEvents] = useState<EventType[]>(endpoint?.events ?? eventTypes);
  const [error, setError] = useState<string>();
  const save = useMutation({
    mutationFn: () =>
      api<Webhook & { secret?: string }>(walletPath(id, endpoint ? `webhooks/${endpoint.id}` : "webhooks"), {
        method: endpoint ? "PATCH" : "POST",
        body: { url: url.trim(), description: description.trim(), events },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries(endpointsQuery(id));
      if (endpoint) onClose();
    },
  });
  if (save.data?.secret !== undefined) return <SigningSecretDialog secret={save.data.secret} onClose={onClose} />;
  const submit = (): void => {
    const isInvalid = !/^https?:\/\/[^\s/]/.test(url.trim());
    setError(isInvalid ? "Enter a public https URL." : undefined);
    if (!isInvalid) save.mutate();
  };
  return (
    <Dialog
      title={endpoint ? "Edit endpoint" : "Add endpoint"}
      action={endpoint ? "Save" : "Add endpoint"}
      size="lg"
      isReady={events.length > 0}
      onClose={onClose}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={submit}
    >
      <TextInput
        label="URL"
        placeholder="https://example.org/hooks/pennyblack"
        type="url"
        data-autofocus
        value={url}
        error={error}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <TextInput
        label="Description"
        description="Optional"
        maxLength={200}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <EventCheckboxes events={events} onChange={setEvents} />
    </Dialog>
  );
}

function EventCheckboxes({ events, onChange }: { events: EventType[]; onChange: (events: EventType[]) => void }) {
  return (
    <Checkbox.Group label="Events" value={events} onChange={onChange}>
      <Stack gap={8} mt={6}>
        {eventTypes.map((type) => (
          <Checkbox
            key={type}
            value={type}
            label={eventDescriptions[type]}
            description={<span className="mono">{type}</span>}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
